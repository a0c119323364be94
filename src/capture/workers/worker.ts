// A capture worker: a process of the server that shares its port and has a journal of its own.
//
// The line of standard input is its configuration. Its link to worker 1 is Bun's own channel between processes, which
// takes a third of the CPU that lines on pipes took. The end of standard input ends it: at once, or after its last
// flush if its stop was requested before.

import { createInterface } from "node:readline";
import { openClientAddress, openProxies } from "../../access/client_address.ts";
import { openProjectKeys } from "../../access/project_keys.ts";
import { systemClock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { type Log, type LogLevel, openLog, toReason } from "../../core/log.ts";
import { forwardTo } from "../../http/forward.ts";
import { listen, openApplication } from "../../http/listen.ts";
import { followProcess } from "../../http/metrics/process_metrics.ts";
import { PeerAddresses } from "../../http/peer.ts";
import { openProblems } from "../../http/problem.ts";
import { ownDataDir } from "../../storage/lock.ts";
import { joinStores } from "../../storage/stores.ts";
import { openBodyMemory } from "../../work/bodies/memory_budget.ts";
import { openRpc, type Rpc, type RpcMessage } from "../../work/rpc.ts";
import { captureCounts, flushCounts, followJournal, followMemory, refusalCounts } from "../counts.ts";
import { type CaptureMetrics, openMetrics } from "../metrics.ts";
import { openCapture } from "../open.ts";
import type { AnswerOptions } from "../receive/single_event.ts";
import { captureRoutes, isCapture } from "../route.ts";
import { PrimaryClient } from "./primary_client.ts";

/** The line of a worker's standard input. It holds passwords, so it is neither an argument nor logged. */
export interface WorkerConfig {
  /** At least 2, as worker 1 is the server itself. */
  number: number;
  /** The folder with the quarantine of all workers. */
  dataDir: string;
  ownDir: string;
  databaseUrl: string;
  /** Address of that, without user and password, or "embedded". */
  postgres: string;
  clickhouseUrl: string;
  clickhouseCluster: string | undefined;
  /** Whether ClickHouse is the embedded one, which reads batches by file name. */
  embedded: boolean;
  host: string;
  port: number;
  /** Address at which worker 1 answers all but captures: http://127.0.0.1:PORT. */
  inside: string;
  captureAck: "journal" | "stored" | "memory";
  flushIntervalMs: number;
  journalBytesMax: number;
  journalArchive: string | undefined;
  /** How many workers there are: memory for bodies is divided among them. */
  workers: number;
  bodyBytesMax: number;
  idleTimeoutSeconds: number;
  trustedProxies: readonly string[];
  recordingRetentionDays: number;
  logLevel: LogLevel;
}

type Working = Awaited<ReturnType<typeof open>>;

async function open(config: WorkerConfig, link: Rpc, metrics: CaptureMetrics, log: Log) {
  const { ownDir, databaseUrl: database_url, clickhouseUrl: clickhouse_url } = config;
  const { embedded, clickhouseCluster } = config;
  ownDataDir(ownDir);
  const stores = joinStores({ database_url, clickhouse_url, embedded, clickhouseCluster }, log);
  const primary = new PrimaryClient(link);
  const capture = await openCapture({
    ...config,
    stores,
    shared: primary,
    counts: flushCounts(metrics),
    clock: systemClock,
    log,
  });
  void capture.broken.then(({ message }) => endProcess(message));
  followJournal(metrics, capture);
  const keys = await openProjectKeys({
    sql: stores.sql,
    path: `${ownDir}/journal/keys.json`,
    database: capture.database,
    log,
    clock: systemClock,
  });
  const memory = openBodyMemory(config.bodyBytesMax, config.workers);
  followMemory(metrics, memory);
  const peers = new PeerAddresses();
  const clientAddress = openClientAddress({ trustedProxies: config.trustedProxies, log });
  const isProxy = openProxies(config.trustedProxies);
  const app = workerRoutes(config.inside, log, {
    ...config,
    memory,
    ...capture.parts,
    readAddress: (request) => clientAddress(peers.of(request), request.headers),
    keys,
    clock: systemClock,
    ack: config.captureAck,
    counts: captureCounts(metrics),
    refused: refusalCounts(metrics, capture),
    observeSeconds: (value) => metrics.captureSeconds.observe(value),
  });
  return { primary, stores, keys, capture, server: listen(app, { ...config, shared: true, peers, isProxy }) };
}

/** Captures, and everything else forwarded to worker 1, which answers at `inside`. */
function workerRoutes(inside: string, log: Log, capture: Omit<AnswerOptions, "failed">) {
  const app = openApplication();
  const problem = openProblems({ log, routes: () => app.routes });
  const failed: AnswerOptions["failed"] = (error, request) => problem({ error, code: "UNKNOWN", request });
  const forward = forwardTo(inside, capture.readAddress);
  return app
    .onError((failure) => problem(failure))
    .wrap((handle, request) => (isCapture(request) ? handle : forward))
    .use(captureRoutes({ ...capture, failed }));
}

/** Stops accepting, answers requests in flight, sends worker 1 the last counts. */
async function quiet({ server, capture, primary }: Working): Promise<void> {
  await server.stop();
  await capture.book.close();
  primary.close();
}

async function close({ capture, keys, stores }: Working): Promise<void> {
  await capture.close(limits.stopMsMax - limits.stopRequestsMsMax - limits.stopStoresMsMax);
  await keys.close();
  await stores.close();
}

function endProcess(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  // Signals go to all processes of the group, but a worker stops when worker 1 requests it.
  const signals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
  for (const signal of signals) process.on(signal, () => {});
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const config = JSON.parse(String((await lines.next()).value)) as WorkerConfig;
  const metrics = openMetrics();
  followProcess(metrics.registry);
  let working: Working | undefined;
  let stopping = false;
  const link = openRpc((message) => process.send!(message), {
    metrics: () => metrics.registry.read(),
    check: () => working?.capture.check(),
    trouble: () => working?.capture.trouble(),
    flush: () => working?.capture.startFlush(),
    stop: async () => {
      stopping = true;
      if (working) await quiet(working);
    },
  });
  process.on("message", (message: RpcMessage) => link.receive(message));
  const reading = (async () => {
    await lines.next();
    link.end();
    if (!stopping || !working) process.exit(1);
    await close(working);
    process.exit(0);
  })();
  reading.catch((thrown: unknown) => endProcess(toReason(thrown)));
  const write = (line: string) => link.send("log", line);
  const log = openLog({ level: config.logLevel, format: "json", write });
  working = await open(config, link, metrics, log);
  link.send("ready");
}

await main().catch((thrown: unknown) => endProcess(toReason(thrown)));
