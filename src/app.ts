// The wiring: stores, rooms, routes, workers, opened in order and closed in mirror order. Decides nothing itself.

import { resolve } from "node:path";
import { type Addresses, openAddresses } from "./access/address.ts";
import { openClientAddress } from "./access/client_address.ts";
import { openGate } from "./access/gate.ts";
import { type ProjectKeys, openProjectKeys } from "./access/project_keys.ts";
import { openKeyCache, type KeyCache } from "./access/key_cache.ts";
import { openSecrets } from "./access/secret.ts";
import { openBatchExports, type OpenedExports } from "./batch_exports/open.ts";
import { batchExportRoutes } from "./batch_exports/operations.ts";
import {
  captureCounts,
  flushCounts,
  followDisk,
  followJournal,
  followMemory,
  refusalCounts,
} from "./capture/counts.ts";
import { readJournalIdentity } from "./capture/journal/identity/journal_identity.ts";
import { type OpenedCapture, openCapture } from "./capture/open.ts";
import { captureRoutes } from "./capture/route.ts";
import { WorkerPool, leftBehind, workersOf } from "./capture/workers/worker_pool.ts";
import { requestKeyOf } from "./capture/receive/request_key.ts";
import type { Bootstrapped } from "./accounts/bootstrap.ts";
import { prepare } from "./accounts/prepare.ts";
import { markServed } from "./accounts/store.ts";
import type { Config } from "./config.ts";
import { systemClock } from "./core/clock.ts";
import { limits } from "./core/limits.ts";
import type { UserError } from "./core/fault.ts";
import type { Log } from "./core/log.ts";
import { dashboardRoutes } from "./dashboards/operations.ts";
import { openEventRetention } from "./event_retention/worker.ts";
import { eventRoutes } from "./events/operations.ts";
import { type DescribedRoute, docsRoutes } from "./http/docs/docs.ts";
import { groupRoutes } from "./groups/operations.ts";
import { healthRoutes } from "./http/metrics/health.ts";
import { type Listening, findFree, listen, listenInside, openApplication } from "./http/listen.ts";
import { type Metrics, openMetrics } from "./http/metrics/metrics.ts";
import { reachedAt } from "./http/pages/page.ts";
import { Peers } from "./http/peer.ts";
import { longPageReply } from "./http/pages/sliced.ts";
import { followProcess, followServer } from "./http/metrics/process_metrics.ts";
import { openProblems } from "./http/problem.ts";
import { linkRoutes } from "./subscriptions/links/route.ts";
import { type OpenedSubscriptions, openSubscriptions } from "./subscriptions/open.ts";
import { subscriptionRoutes } from "./subscriptions/operations.ts";
import { ingestionWarningRoutes } from "./ingestion_warnings/operations.ts";
import { openInsightReader } from "./insights/reader.ts";
import { insightRoutes } from "./insights/operations.ts";
import { openInsightShow } from "./insights/show.ts";
import { organizationRoutes } from "./organizations/operations.ts";
import { openDeletions } from "./persons/deletion/worker.ts";
import { personRoutes } from "./persons/operations.ts";
import { personalKeyRoutes } from "./personal_api_keys/operations.ts";
import { projectRoutes } from "./projects/operations.ts";
import { openQueryEngine, type QueryEngine } from "./query/engine.ts";
import { queryRoutes } from "./query/operations.ts";
import { remoteConfigRoutes } from "./remote_config/route.ts";
import { openRemoval } from "./session_recordings/remove.ts";
import { sessionRecordingRoutes } from "./session_recordings/operations.ts";
import { sessionRoutes } from "./sessions/operations.ts";
import { installedFolder, openScripts } from "./static/bundle.ts";
import { staticRoutes } from "./static/route.ts";
import { isSameDatabase, databaseOf, readConnection } from "./storage/embedded/connection.ts";
import { tellLeftBehind } from "./storage/embedded/left_behind.ts";
import { pingPostgres } from "./storage/postgres/postgres.ts";
import { type Stores, openStores } from "./storage/stores.ts";
import { readWatermarks } from "./storage/watermark.ts";
import { type MemoryBudget, openBodyMemory } from "./work/memory_budget.ts";

export interface App {
  /** Where it listens, e.g. http://127.0.0.1:8000. */
  url: string;
  /** What the first start made; undefined later. */
  bootstrapped: Bootstrapped | undefined;
  /** To be called once the keys were shown: later starts show none. */
  shown(): Promise<void>;
  /** Everything it answers. */
  routes: readonly DescribedRoute[];
  /** Resolves to the reason when the server must not go on. */
  broken: Promise<UserError>;
  /** Stops accepting, answers what is in flight, flushes, closes. */
  close(): Promise<void>;
}

/** @throws UserError with one line a person can act on. What was opened by then is closed again. */
export async function openApp(config: Config, log: Log): Promise<App> {
  const closers: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const closeOne of closers.splice(0).toReversed()) await closeOne();
  };
  try {
    return { ...(await openParts(config, log, closers)), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function openParts(
  config: Config,
  log: Log,
  closers: (() => Promise<void> | void)[],
): Promise<Omit<App, "close">> {
  const dataDir = resolve(config.dataDir);
  const { databaseUrl, clickhouseUrl } = config;
  const postgres = databaseOf(databaseUrl);
  const identity = readJournalIdentity(`${dataDir}/journal`);
  // Saved keys are of the Postgres of before: at another place nothing is captured by them until it answers.
  const isElsewhere = identity !== undefined && !isSameDatabase(identity.postgres, postgres);
  const insist = identity === undefined || isElsewhere;
  const planned = workersOf(config.workers);
  const { count } = planned;
  // Before anything is made: a start that cannot serve must not leave keys that nobody has seen.
  await findFree(config.host, config.port);
  const stores = await openStores({
    dataDir,
    log,
    requireReachable: insist,
    ...(databaseUrl && { databaseUrl }),
    ...(clickhouseUrl && { clickhouseUrl }),
  });
  closers.push(() => stores.close());
  tellLeftBehind({ ...config, dataDir }, log);
  const metrics = openMetrics();
  followServer(metrics.registry, systemClock);
  followProcess(metrics.registry);
  const prepared = await prepare(stores, config, {
    insist,
    alone: databaseUrl === undefined,
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
  const memory = openBodyMemory(config.bodyBytesMax, count);
  followMemory(metrics, memory);
  const pool = new WorkerPool({ workers: planned, capture, metrics, log });
  closers.push(() => pool.gone());
  closers.push(() => capture.close(limits.stopMsMax));
  followJournal(metrics, capture);
  followDisk(metrics, capture);
  const { sql, clickhouse } = stores;
  const engine = openQueryEngine({ sql, clickhouse, clock: systemClock });
  const addresses = openAddresses({ allowPrivate: config.allowPrivateDestinations });
  const secrets = openSecrets({ secretKey: config.secretKey, dataDir });
  const site = { url: config.siteUrl };
  const subscriptions = openSubscriptions({
    sql,
    clock: systemClock,
    log,
    metrics,
    addresses,
    secrets,
    reader: openInsightReader({ sql, queries: engine }),
    smtpUrl: config.smtpUrl,
    emailFrom: config.emailFrom,
    siteUrl: () => site.url ?? "",
  });
  const { exportFileDir } = config;
  const exporting = { sql, clickhouse, secrets, addresses, exportFileDir, metrics, clock: systemClock, log };
  const exports = openBatchExports(exporting);
  const rooms = { exports, subscriptions, engine, addresses };
  const peers = new Peers();
  const parts: Parts = { stores, keys, recent, capture, pool, memory, peers, ...rooms, metrics, config, log };
  const working = workers(parts);
  for (const worker of working) closers.push(() => worker.close());
  let closing = false;
  const start = async () => {
    // Not before the journal's watermark counts: exports go by it.
    await capture.verified;
    if (closing) return;
    capture.startFlush();
    pool.flush();
    for (const worker of working) worker.start();
  };
  closers.push(() => void (closing = true));
  closers.push(prepared.whenReady(() => void start()));
  const app = routes(parts);
  const server = await serve(app, { ...config, dataDir }, { count, pool, peers, closers });
  site.url ??= server.url;
  const { bootstrapped } = prepared;
  const shown = async () => void (bootstrapped && (await markServed(sql)));
  const { broken } = capture;
  return { url: server.url, bootstrapped, shown, broken, routes: app.routes };
}

/** Listens, and starts the workers that share this one's port and hand it all that is no event. */
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
  closers: (() => Promise<void> | void)[];
}

interface Parts {
  stores: Stores;
  keys: ProjectKeys;
  recent: KeyCache;
  capture: OpenedCapture;
  pool: WorkerPool;
  memory: MemoryBudget;
  peers: Peers;
  exports: OpenedExports;
  subscriptions: OpenedSubscriptions;
  engine: QueryEngine;
  addresses: Addresses;
  metrics: Metrics;
  config: Config;
  log: Log;
}

/** What works by itself beside the requests; started once the stores are prepared. */
interface Worker {
  start(): void;
  /** Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

/** One line for each room that has work of its own. */
function workers({ stores, exports, subscriptions, metrics, config, log }: Parts): Worker[] {
  const { sql, clickhouse } = stores;
  const own = { sql, clickhouse, clock: systemClock, log };
  const retention = openEventRetention({ ...own, metrics, retentionDays: config.eventRetentionDays });
  return [exports, subscriptions, openDeletions(own), openRemoval(own), retention];
}

/** What a balancer and Prometheus ask. */
function health({ stores: { sql, clickhouse }, capture, pool, metrics, config, log }: Parts) {
  const checks = {
    journal: async () => void (await Promise.all([capture.check(), pool.check()])),
    postgres: () => pingPostgres(sql),
    clickhouse: () => clickhouse.ping(),
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
  const { engine, addresses, metrics, config, log } = parts;
  const { sql, clickhouse } = stores;
  const clock = systemClock;
  const gate = openGate({ sql, clock, log, recent, memory, requestsPerMinute: config.managementRateLimit });
  const { trustedProxies } = config;
  const clientAddress = openClientAddress({ trustedProxies, log });
  const capturing = captureRoutes({
    journal: capture.journal,
    book: capture.book,
    groupTypes: capture.groupTypes,
    salts: capture.salts,
    addressOf: (request) => clientAddress(peers.of(request), request.headers),
    keys,
    clock,
    ack: config.captureAck,
    bodyBytesMax: config.bodyBytesMax,
    memory,
    recordingRetentionDays: config.recordingRetentionDays,
    counts: captureCounts(metrics),
    refused: refusalCounts(metrics, capture),
    failed: (error, request) => problem({ error, code: "UNKNOWN", request }),
    seconds: (value) => metrics.captureSeconds.observe(value),
  });
  const { siteUrl } = config;
  const scripts = openScripts(installedFolder());
  const library = () => scripts.find("array.js")?.plain();
  const app = openApplication();
  if (siteUrl !== undefined) app.onRequest(({ request }) => reachedAt(request, siteUrl));
  const problem = openProblems({ log, routes: () => app.routes });
  return (
    app
      .onError((failure) => problem(failure))
      .use(health(parts))
      .use(docsRoutes({ routes: () => app.routes }))
      .use(capturing)
      .use(remoteConfigRoutes({ gate, keys, tokenOf: (request) => requestKeyOf(request, memory), library }))
      .use(staticRoutes({ scripts }))
      // Of what follows; captures have no lists.
      .mapResponse(async ({ response }) => await longPageReply(response))
      .use(organizationRoutes({ gate, sql }))
      .use(projectRoutes({ gate, sql, eventRetentionDays: config.eventRetentionDays }))
      .use(personalKeyRoutes({ gate, sql }))
      .use(batchExportRoutes({ gate, ...exports.parts }))
      .use(eventRoutes({ gate, clickhouse, clock }))
      .use(personRoutes({ gate, sql, clickhouse, clock }))
      .use(groupRoutes({ gate, sql, clickhouse, clock }))
      .use(ingestionWarningRoutes({ gate, clickhouse, clock }))
      .use(queryRoutes({ gate, engine }))
      .use(insightRoutes({ gate, sql, queries: engine }))
      .use(dashboardRoutes({ gate, sql, insights: openInsightShow({ sql, queries: engine, clock }) }))
      .use(subscriptionRoutes({ gate, sql, clock, addresses }))
      .use(linkRoutes({ sql, links: subscriptions.links, pictures: subscriptions.pictures }))
      .use(sessionRoutes({ gate, clickhouse }))
      .use(sessionRecordingRoutes({ gate, sql, clickhouse, clock, log, server: config.modelServer }))
  );
}

/** What a typed client is made from. Routes mounted in a loop answer as well, but are not in this type. */
export type Routes = ReturnType<typeof routes>;
