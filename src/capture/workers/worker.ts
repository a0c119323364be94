// A capture worker: a process of the server that shares its port, with a journal of its own. Never outlives the server,
// and never begins what must be done once.
//
// Its first line on standard input is its order, the rest and standard output are its link to worker 1. The end of
// standard input ends it: at once, or when it was asked to stop before, behind its last flush.

import { createInterface } from "node:readline";
import { type ProjectKeys, openProjectKeys } from "../../access/project_keys.ts";
import { openClientAddress } from "../../access/client_address.ts";
import { systemClock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { type Log, openLog, reasonOf } from "../../core/log.ts";
import { type Listening, listen } from "../../http/listen.ts";
import { Peers } from "../../http/peer.ts";
import { type Metrics, openMetrics } from "../../http/metrics/metrics.ts";
import { followProcess } from "../../http/metrics/process_metrics.ts";
import { ownDataDir } from "../../storage/lock.ts";
import { type Stores, joinStores } from "../../storage/stores.ts";
import { openBodyMemory } from "../../work/memory_budget.ts";
import { type Rpc, openRpc } from "../../work/rpc.ts";
import { captureCounts, flushCounts, followJournal, followMemory, refusalCounts } from "../counts.ts";
import { type OpenedCapture, openCapture } from "../open.ts";
import { PrimaryClient } from "./primary_client.ts";
import type { WorkerConfig } from "./worker_config.ts";
import { workerRoutes } from "./route.ts";

interface Working {
  far: PrimaryClient;
  stores: Stores;
  keys: ProjectKeys;
  capture: OpenedCapture;
  server: Listening;
}

async function open(order: WorkerConfig, link: Rpc, metrics: Metrics, log: Log): Promise<Working> {
  const { ownDir, databaseUrl: database_url, clickhouseUrl: clickhouse_url, embedded } = order;
  ownDataDir(ownDir);
  const stores = joinStores({ database_url, clickhouse_url, embedded }, log);
  const far = new PrimaryClient(link);
  const capture = await openCapture({
    ...order,
    stores,
    shared: far,
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
  const memory = openBodyMemory(order.bodyBytesMax, order.workers);
  followMemory(metrics, memory);
  const peers = new Peers();
  const clientAddress = openClientAddress({ trustedProxies: order.trustedProxies, log });
  const app = workerRoutes({
    ...order,
    memory,
    journal: capture.journal,
    book: capture.book,
    groupTypes: capture.groupTypes,
    salts: capture.salts,
    addressOf: (request) => clientAddress(peers.of(request), request.headers),
    keys,
    clock: systemClock,
    ack: order.captureAck,
    counts: captureCounts(metrics),
    refused: refusalCounts(metrics, capture),
    seconds: (value) => metrics.captureSeconds.observe(value),
    log,
  });
  return { far, stores, keys, capture, server: listen(app, { ...order, shared: true, peers }) };
}

/** Stops accepting, answers what is in flight, tells worker 1 the last of what it has to know. */
async function quiet({ server, capture, far }: Working): Promise<void> {
  await server.stop();
  await capture.book.close();
  far.close();
}

async function close({ capture, keys, stores }: Working): Promise<void> {
  await capture.close(limits.stopMsMax);
  await keys.close();
  await stores.close();
}

function logTo(link: Rpc, level: WorkerConfig["logLevel"]): Log {
  return openLog({ level, format: "json", write: (line) => link.tell("log", line) });
}

function endProcess(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  // Who stops everything sends these to all processes; worker 1 says when it is our turn.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const order = JSON.parse(String((await lines.next()).value)) as WorkerConfig;
  const metrics = openMetrics();
  followProcess(metrics.registry);
  let working: Working | undefined;
  let stopping = false;
  const link = openRpc((line) => void process.stdout.write(`${line}\n`), {
    metrics: () => metrics.registry.read(),
    check: () => working?.capture.check(),
    flush: () => working?.capture.startFlush(),
    stop: async () => {
      stopping = true;
      if (working) await quiet(working);
    },
  });
  const reading = (async () => {
    for (let next = await lines.next(); !next.done; next = await lines.next()) link.take(next.value);
    link.end();
    if (!stopping || !working) process.exit(1);
    await close(working);
    process.exit(0);
  })();
  reading.catch((thrown: unknown) => endProcess(reasonOf(thrown)));
  working = await open(order, link, metrics, logTo(link, order.logLevel));
  link.tell("ready");
}

await main().catch((thrown: unknown) => endProcess(reasonOf(thrown)));
