// Opens and connects the parts of the server, and closes them in reverse order.

import { resolve } from "node:path";
import { absentFault } from "./absent_resources/model.ts";
import { absentResourceRoutes } from "./absent_resources/operations.ts";
import { openAddresses } from "./access/address.ts";
import { openClientAddress } from "./access/client_address.ts";
import { openGate } from "./access/gate.ts";
import { openProjectKeys } from "./access/project_keys.ts";
import { openKeyCache } from "./access/key_cache.ts";
import { resealAll } from "./access/reseal_store.ts";
import { openSecrets } from "./access/secret.ts";
import { openBatchExports } from "./batch_exports/open.ts";
import { batchExportRoutes } from "./batch_exports/api/operations.ts";
import {
  captureCounts,
  flushCounts,
  followShared,
  followJournal,
  followMemory,
  refusalCounts,
} from "./capture/counts.ts";
import { journalsIn, readJournalIdentity } from "./capture/journal/identity/journal_identity.ts";
import { openCapture } from "./capture/open.ts";
import { captureRoutes } from "./capture/route.ts";
import { openServerEvents } from "./capture/server_events.ts";
import { WorkerPool, leftBehind, workersOf } from "./capture/workers/worker_pool.ts";
import { requestKeyOf } from "./capture/receive/request_key.ts";
import type { Bootstrapped } from "./accounts/bootstrap.ts";
import { prepare } from "./accounts/prepare.ts";
import { markServed } from "./accounts/store.ts";
import type { Config } from "./config.ts";
import { type OpenedConsole, openConsole } from "./console/open.ts";
import { sendShared } from "./console/page.ts";
import { consoleRoutes } from "./console/route.ts";
import { systemClock } from "./core/clock.ts";
import { limits } from "./core/limits.ts";
import { withoutLast } from "./core/trim.ts";
import type { UserError } from "./core/fault.ts";
import type { Log } from "./core/log.ts";
import { dashboardRoutes } from "./dashboards/operations.ts";
import { definitionRoutes } from "./definitions/operations.ts";
import { openEventRetention } from "./event_retention/worker.ts";
import { eventRoutes } from "./events/operations.ts";
import { type DescribedRoute, docsRoutes } from "./http/docs/docs.ts";
import { groupRoutes } from "./groups/operations.ts";
import { healthRoutes } from "./http/metrics/health.ts";
import { followSilence } from "./http/metrics/silence.ts";
import { type Listening, findFree, listen, listenInside, openApplication } from "./http/listen.ts";
import { type CaptureMetrics, openMetrics } from "./capture/metrics.ts";
import { reachedAt } from "./http/pages/page.ts";
import { Peers } from "./http/peer.ts";
import { followProcess, followServer } from "./http/metrics/process_metrics.ts";
import { openProblems } from "./http/problem.ts";
import { linkRoutes } from "./subscriptions/links/route.ts";
import { openSubscriptions } from "./subscriptions/open.ts";
import { subscriptionRoutes } from "./subscriptions/operations.ts";
import { ingestionWarningRoutes } from "./ingestion_warnings/operations.ts";
import { insightRoutes } from "./insights/operations.ts";
import { openBoardReader } from "./insights/shared.ts";
import { openInsightReader, openInsightShow } from "./insights/show.ts";
import { organizationRoutes } from "./organizations/operations.ts";
import { openDeletions } from "./persons/deletion/worker.ts";
import { personRoutes } from "./persons/operations.ts";
import { personalKeyRoutes } from "./personal_api_keys/operations.ts";
import { projectRoutes } from "./projects/operations.ts";
import { openQueries } from "./query/open.ts";
import { queryRoutes } from "./query/operations.ts";
import { remoteConfigRoutes } from "./remote_config/route.ts";
import { openRemoval } from "./session_recordings/remove.ts";
import { openSharedRecordings } from "./session_recordings/sharing/shared_recording.ts";
import { sessionRecordingRoutes } from "./session_recordings/operations.ts";
import { openSharing, sharedRoutes } from "./sharing/route.ts";
import { sessionRoutes } from "./sessions/operations.ts";
import { openScripts, staticRoutes } from "./static/route.ts";
import { isSameDatabase, databaseOf, readConnection } from "./storage/embedded/connection.ts";
import { tellLeftBehind } from "./storage/embedded/left_behind.ts";
import { checkClickHouse, type Stores, openStores } from "./storage/stores.ts";
import { readWatermarks } from "./storage/watermark.ts";
import { userRoutes } from "./users/operations.ts";
import type { MemoryBudget } from "./work/bodies/memory_budget.ts";
import { openBodyMemory } from "./work/bodies/open.ts";
import { endAll, type Worker } from "./work/worker.ts";

export interface App {
  /** Where it listens, e.g. http://127.0.0.1:8000. */
  url: string;
  /** The accounts of the first start; undefined later. */
  bootstrapped: Bootstrapped | undefined;
  /**
   * Makes the address that opens the console once, signed in with the key of the first start; undefined later. Whoever
   * asks shows it to a person: until it is asked for, there is no code.
   */
  signInUrl(): string | undefined;
  /** To be called after the keys were shown: later starts do not show keys. */
  shown(): Promise<void>;
  routes: readonly DescribedRoute[];
  /** Resolves to the reason when the server must stop. */
  broken: Promise<UserError>;
  /** Stops accepting, answers the requests in flight, flushes, and closes the parts. */
  close(): Promise<void>;
}

/**
 * Starts the server. When that fails, the parts that are open are closed.
 * @param ending ends a start that waits for servers of an older version, with its reason.
 * @throws UserError with one line for the operator.
 */
export async function openApp(config: Config, log: Log, ending?: AbortSignal): Promise<App> {
  const closers: Closers = [];
  const stop = { until: Number.POSITIVE_INFINITY };
  const close = async () => {
    stop.until = systemClock.elapsed() + limits.stopMsMax;
    for (const closeOne of closers.splice(0).toReversed()) await closeOne();
  };
  try {
    return { ...(await openParts({ config, log, stop, ...(ending && { ending }) }, closers)), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

type Closers = (() => Promise<void> | void)[];

interface Starting {
  config: Config;
  log: Log;
  /** When a stop has to be over, by systemClock.elapsed(). */
  stop: { until: number };
  ending?: AbortSignal;
}

async function openParts(starting: Starting, closers: Closers): Promise<Omit<App, "close">> {
  const { config, log, stop } = starting;
  const dataDir = resolve(config.dataDir);
  const planned = workersOf(config.workers);
  const { count } = planned;
  // Checked first: a start that cannot listen must not create keys, which nobody would see.
  await findFree(config.host, config.port);
  const metrics = openMetrics();
  followServer(metrics.registry, systemClock);
  followProcess(metrics.registry);
  const opening: Opening = { ...starting, dataDir, metrics };
  const capturing = await openCapturing(opening, count, closers);
  const { stores, prepared, capture } = capturing;
  const memory = openBodyMemory(config.bodyBytesMax, count);
  followMemory(metrics, memory);
  const pool = new WorkerPool({ workers: planned, capture, metrics, log });
  closers.push(() => pool.gone());
  const leftMs = (keptMs: number) => Math.max(0, stop.until - systemClock.elapsed() - keptMs);
  closers.push(() => capture.close(leftMs(limits.stopStoresMsMax)));
  followJournal(metrics, capture);
  followShared(metrics, capture);
  const site = { url: config.siteUrl };
  const rooms = openRooms(opening, stores, () => site.url ?? "");
  const peers = new Peers();
  const processes = async () => [metrics.registry.read(), ...(await pool.read())];
  const consoleRoom = openConsole({ ...stores, metrics: processes, clock: systemClock, log });
  const parts: Parts = { ...opening, ...capturing, ...rooms, pool, memory, peers, consoleRoom };
  closers.push(rooms.engine.close);
  const working = workers(parts);
  closers.push(() => endAll(working, leftMs(limits.stopStoresMsMax + limits.stopFlushMsMin), log));
  let closing = false;
  const start = async () => {
    // Exports rely on the journal's watermark, so they start after it is verified.
    await capture.verified;
    if (closing) return;
    capture.startFlush();
    pool.flush();
    for (const worker of working) worker.start();
    if (config.secretKeyBefore !== undefined) await resealAll(stores.sql, rooms.secrets, log);
  };
  closers.push(() => void (closing = true));
  closers.push(prepared.whenReady(() => void start()));
  const app = routes(parts);
  const server = await serve(app, { ...config, dataDir }, { count, pool, peers, closers });
  // Before the server waits for its requests: a stream would never end by itself.
  closers.push(() => consoleRoom.streams.close());
  site.url ??= server.url;
  const { bootstrapped } = prepared;
  const key = bootstrapped?.personalApiKey;
  const home = withoutLast(site.url, "/");
  const signInUrl = () => key && `${home}/#code=${consoleRoom.signIn.offer(key)}`;
  const shown = async () => void (bootstrapped && (await markServed(stores.sql)));
  return { url: server.url, bootstrapped, signInUrl, shown, broken: capture.broken, routes: app.routes };
}

interface Opening extends Starting {
  dataDir: string;
  metrics: CaptureMetrics;
}

/**
 * The stores with their tables and first accounts, the journal, and the project keys.
 * @param count processes that capture, this one included.
 */
async function openCapturing(opening: Opening, count: number, closers: Closers) {
  const { config, dataDir, metrics, log, ending } = opening;
  const { databaseUrl, clickhouseUrl, clickhouseCluster } = config;
  const postgres = databaseOf(databaseUrl);
  const identity = readJournalIdentity(`${dataDir}/journal`);
  // Saved keys belong to the previous Postgres; with another database, a start waits until it answers.
  const isElsewhere = identity !== undefined && !isSameDatabase(identity.postgres, postgres);
  const insist = identity === undefined || isElsewhere;
  const stores = await openStores({
    dataDir,
    log,
    requireReachable: insist,
    ...(databaseUrl && { databaseUrl }),
    ...(clickhouseUrl && { clickhouseUrl }),
    ...(clickhouseCluster && { clickhouseCluster }),
  });
  closers.push(() => stores.close());
  tellLeftBehind({ ...config, dataDir }, log);
  const prepared = await prepare(stores, config, {
    insist,
    alone: databaseUrl === undefined,
    ownJournals: journalsIn([dataDir, ...leftBehind(dataDir, 1)]),
    ...(ending && { ending }),
    log,
  });
  const recent = openKeyCache({ sql: stores.sql, clock: systemClock });
  closers.push(() => recent.close());
  const capture = await openCapture({
    dataDir,
    leftDirs: leftBehind(dataDir, count),
    workerDirs: leftBehind(dataDir, 1),
    postgres,
    flushIntervalMs: config.flushIntervalMs,
    journalBytesMax: Math.floor(config.journalBytesMax / count),
    stores,
    counts: flushCounts(metrics),
    clock: systemClock,
    log,
  });
  const keys = await openProjectKeys({
    sql: stores.sql,
    path: `${dataDir}/journal/keys.json`,
    database: capture.database,
    log,
    clock: systemClock,
  });
  closers.push(() => keys.close());
  return { stores, prepared, recent, capture, keys };
}

/**
 * The parts that queries, subscriptions and exports share or own.
 * @param siteUrl the URL at which people reach this server; known once it listens.
 */
function openRooms({ config, dataDir, metrics, log }: Opening, stores: Stores, siteUrl: () => string) {
  const { sql, clickhouse } = stores;
  const addresses = openAddresses({ allowPrivate: config.allowPrivateDestinations });
  const secrets = openSecrets({ ...config, dataDir });
  const own = { sql, clock: systemClock, log, metrics, addresses, secrets };
  const engine = openQueries({ ...own, clickhouse, settings: config });
  const reader = openInsightReader({ sql, queries: engine });
  const subscriptions = openSubscriptions({ ...config, ...own, reader, siteUrl });
  const exports = openBatchExports({ ...config, ...own, clickhouse, parse: engine.parse });
  return { exports, subscriptions, engine, addresses, secrets, sharing: openSharing(own) };
}

/** Listens, and starts the workers, which share the port and forward all requests that are not captures. */
async function serve(
  app: ReturnType<typeof routes>,
  config: Config,
  { count, pool, peers, closers }: Serving,
): Promise<Listening> {
  const shared = count > 1;
  const server = listen(app, { ...config, shared, peers });
  let inside: Listening | undefined;
  closers.push(async () => {
    await Promise.all([server.stop(), pool.quiet()]);
    await inside?.stop();
  });
  if (shared) inside = listenInside(app, config.bodyBytesMax);
  const { databaseUrl, clickhouseUrl, journalBytesMax } = config;
  const embedded = readConnection(config.dataDir);
  await pool.start({
    ...config,
    postgres: databaseOf(databaseUrl),
    databaseUrl: databaseUrl ?? embedded?.database_url ?? "",
    clickhouseUrl: clickhouseUrl ?? embedded?.clickhouse_url ?? "",
    embedded: clickhouseUrl === undefined,
    port: server.port,
    inside: inside?.url ?? "",
    journalBytesMax: Math.floor(journalBytesMax / count),
    workers: count,
  });
  return server;
}

interface Serving {
  count: number;
  pool: WorkerPool;
  peers: Peers;
  closers: Closers;
}

type Rooms = ReturnType<typeof openRooms>;
type Capturing = Awaited<ReturnType<typeof openCapturing>>;

interface Parts extends Opening, Rooms, Capturing {
  pool: WorkerPool;
  memory: MemoryBudget;
  peers: Peers;
  consoleRoom: OpenedConsole;
}

function workers({ stores, exports, subscriptions, engine, metrics, config, log }: Parts): Worker[] {
  const own = { ...stores, clock: systemClock, log };
  const { eventRetentionDays: retentionDays } = config;
  const retention = openEventRetention({ ...own, metrics, retentionDays, onExpired: engine.forgetResults });
  return [exports.worker, subscriptions, ...openDeletions(own), openRemoval(own), retention];
}

/** The routes for load balancers and Prometheus. */
function health({ stores: { sql, clickhouse }, capture, pool, metrics, config, log }: Parts) {
  const checks = {
    journal: async () => {
      await Promise.all([capture.check(), pool.check()]);
      const batches = capture.sessionBacklog();
      return batches === 0 ? undefined : `sessions of ${batches} batches are not derived`;
    },
    postgres: followSilence(metrics.registry, sql, systemClock),
    clickhouse: () => checkClickHouse(clickhouse),
  };
  return healthRoutes({
    checks,
    storedUntil: async () => (await readWatermarks(sql, systemClock.now())).through,
    metrics: () => pool.metrics(),
    metricsToken: config.metricsToken,
    registry: metrics.registry,
    clock: systemClock,
    log,
  });
}

function routes(parts: Parts) {
  const { stores, keys, recent, capture, memory, peers, exports, subscriptions } = parts;
  const { engine, addresses, sharing, consoleRoom, metrics, config, log } = parts;
  const { sql, clickhouse } = stores;
  const clock = systemClock;
  const gate = openGate({ sql, clock, log, recent, memory, requestsPerMinute: config.managementRateLimit });
  const { trustedProxies, siteUrl } = config;
  const clientAddress = openClientAddress({ trustedProxies, log });
  const answering = {
    ...capture.parts,
    addressOf: (request: Request) => clientAddress(peers.of(request), request.headers),
    keys,
    clock,
    ack: config.captureAck,
    bodyBytesMax: config.bodyBytesMax,
    memory,
    recordingRetentionDays: config.recordingRetentionDays,
    counts: captureCounts(metrics),
    refused: refusalCounts(metrics, capture),
    failed: (error: unknown, request: Request) => problem({ error, code: "UNKNOWN", request }),
    seconds: (value: number) => metrics.captureSeconds.observe(value),
  };
  const scripts = openScripts();
  const library = () => scripts.find("array.js")?.plain();
  const insights = { sql, queries: engine, clock };
  const shown = { recording: openSharedRecordings({ sql, clickhouse, clock }), page: sendShared };
  const app = openApplication();
  if (siteUrl !== undefined) app.onRequest(({ request }) => reachedAt(request, siteUrl));
  const problem = openProblems({ log, routes: () => app.routes, absent: absentFault });
  return app
    .onError((failure) => problem(failure))
    .use(health(parts))
    .use(docsRoutes({ routes: () => app.routes }))
    .use(consoleRoutes({ gate, ...consoleRoom, openMetrics: config.metricsToken === undefined, log }))
    .use(captureRoutes(answering))
    .use(remoteConfigRoutes({ gate, keys, tokenOf: (request) => requestKeyOf(request, memory), library }))
    .use(staticRoutes({ scripts }))
    .use(userRoutes({ gate, sql }))
    .use(organizationRoutes({ gate, sql }))
    .use(projectRoutes({ gate, sql, clickhouse, eventRetentionDays: config.eventRetentionDays }))
    .use(personalKeyRoutes({ gate, sql }))
    .use(batchExportRoutes({ gate, ...exports.parts }))
    .use(eventRoutes({ gate, clickhouse, clock, engine }))
    .use(personRoutes({ gate, sql, clickhouse, clock, send: openServerEvents(answering) }))
    .use(groupRoutes({ gate, sql, clickhouse, clock }))
    .use(ingestionWarningRoutes({ gate, clickhouse, clock }))
    .use(queryRoutes({ gate, engine }))
    .use(insightRoutes({ gate, sharing, ...insights }))
    .use(dashboardRoutes({ gate, sql, sharing, insights: openInsightShow(insights) }))
    .use(subscriptionRoutes({ gate, sql, clock, addresses }))
    .use(linkRoutes({ sql, links: subscriptions.links, pictures: subscriptions.pictures }))
    .use(sessionRoutes({ gate, clickhouse }))
    .use(definitionRoutes({ gate, sql, clickhouse }))
    .use(sessionRecordingRoutes({ gate, sql, clickhouse, clock, log, server: config.modelServer, sharing }))
    .use(sharedRoutes({ ...sharing, ...shown, reader: openBoardReader(insights), log, metrics }))
    .use(absentResourceRoutes({ gate }));
}

/** The type for Eden clients. Routes that are mounted in a loop are not in it. */
export type Routes = ReturnType<typeof routes>;
