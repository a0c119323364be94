// Opens and connects the parts of the server, and closes them in reverse order.

import { resolve } from "node:path";
import { absentFault } from "./absent_resources/model.ts";
import { absentResourceRoutes } from "./absent_resources/operations.ts";
import { openClientAddress, openProxies } from "./access/client_address.ts";
import { openGate } from "./access/gate.ts";
import { sessionCookieFor } from "./access/people/session.ts";
import { checkSecrets } from "./access/reseal_store.ts";
import { accountRoutes, userRoutes } from "./accounts/operations.ts";
import { openLinkGuard } from "./accounts/sign_in/link_guard.ts";
import { markServed } from "./accounts/store.ts";
import { activityLogRoutes } from "./activity_log/operations.ts";
import { annotationRoutes } from "./annotations/operations.ts";
import { batchExportRoutes } from "./batch_exports/open.ts";
import { captureCounts, followJournal, followMemory, followShared, refusalCounts } from "./capture/counts.ts";
import { openMetrics } from "./capture/metrics.ts";
import { readRequestKey } from "./capture/receive/request_key.ts";
import { captureRoutes } from "./capture/route.ts";
import { openServerEvents } from "./capture/server_events.ts";
import { countWorkers, WorkerPool } from "./capture/workers/worker_pool.ts";
import type { Config } from "./config.ts";
import { openConsole } from "./console/open.ts";
import { sendShared } from "./console/page.ts";
import { consoleRoutes } from "./console/route.ts";
import { systemClock } from "./core/clock.ts";
import { limits } from "./core/limits.ts";
import type { Log } from "./core/log.ts";
import { withoutLast } from "./core/trim.ts";
import { dashboardRoutes } from "./dashboards/operations.ts";
import { definitionRoutes } from "./definitions/operations.ts";
import { eventRoutes } from "./events/operations.ts";
import { groupRoutes } from "./groups/operations.ts";
import { guideRoutes } from "./guide/route.ts";
import { type DescribedRoute, docsRoutes } from "./http/docs/docs.ts";
import { clientAddressHeader } from "./http/forward.ts";
import { findFree, listen, type Listening, listenInside, openApplication } from "./http/listen.ts";
import { followBackups, followSilence, healthRoutes } from "./http/metrics/health.ts";
import { followProcess, followServer } from "./http/metrics/process_metrics.ts";
import { reachedAt } from "./http/pages/page.ts";
import { PeerAddresses } from "./http/peer.ts";
import { changeRefusals, openProblems } from "./http/problem.ts";
import { ingestionWarningRoutes } from "./ingestion_warnings/operations.ts";
import { insightRoutes } from "./insights/operations.ts";
import { openBoardReader } from "./insights/shared.ts";
import { openInsightShow } from "./insights/show.ts";
import { organizationRoutes } from "./organizations/operations.ts";
import {
  type Closers,
  openCapturing,
  openEngineWatch,
  type Opening,
  openRooms,
  openWorkers,
  type ServerParts,
  type Starting,
} from "./parts.ts";
import { personalKeyRoutes } from "./personal_api_keys/operations.ts";
import { personRoutes } from "./persons/operations.ts";
import { projectRoutes } from "./projects/operations.ts";
import { queryRoutes } from "./query/operations.ts";
import { remoteConfigRoutes } from "./remote_config/route.ts";
import { sessionRecordingRoutes } from "./session_recordings/operations.ts";
import { openSharedRecordings } from "./session_recordings/route.ts";
import { sessionRoutes } from "./sessions/operations.ts";
import { sharedRoutes } from "./sharing/route.ts";
import { openScripts, staticRoutes } from "./static/route.ts";
import { nameDatabase, readConnection } from "./storage/embedded/connection.ts";
import { recordAddress } from "./storage/lock.ts";
import { checkClickHouse } from "./storage/stores.ts";
import { readWatermarks } from "./storage/watermark.ts";
import { alertRoutes } from "./subscriptions/alerts/operations.ts";
import { subscriptionRoutes } from "./subscriptions/operations.ts";
import { linkRoutes } from "./subscriptions/route.ts";
import { openBodyMemory } from "./work/bodies/memory_budget.ts";
import { endAll } from "./work/interval.ts";

export type App = Awaited<ReturnType<typeof openApp>>;

/**
 * Starts the server. When that fails, the parts that are open are closed.
 * @param ending aborts, with a reason, a start that waits for servers of an older version.
 * @param openArchive opens what sends away the journal's archive.
 * @throws UserError with one line for the operator.
 */
export async function openApp(
  config: Config,
  log: Log,
  ending?: AbortSignal,
  openArchive?: Starting["openArchive"],
) {
  const closers: Closers = [];
  const stop = { until: Number.POSITIVE_INFINITY };
  /** Stops accepting, answers the requests in flight, flushes, and closes the parts. */
  const close = async () => {
    stop.until = systemClock.elapsed() + limits.stopMsMax;
    for (const closeOne of closers.splice(0).toReversed()) await closeOne();
  };
  try {
    const starting = { config, log, stop, openArchive, ...(ending && { ending }) };
    return { ...(await openParts(starting, closers)), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function openParts(starting: Starting, closers: Closers) {
  const { config, log, stop } = starting;
  const dataDir = resolve(config.dataDir);
  const planned = countWorkers(config.workers);
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
  const watch = openEngineWatch(opening, stores, pool);
  closers.push(() => watch.ticking.close());
  const rooms = openRooms(opening, stores, () => site.url ?? "");
  const peers = new PeerAddresses();
  const processes = async () => [metrics.registry.read(), ...(await pool.read())];
  const consoleRoom = openConsole({ ...stores, metrics: processes, clock: systemClock, log });
  const opened = { ...opening, ...capturing, ...rooms };
  const parts: ServerParts = { ...opened, watch, pool, memory, peers, consoleRoom };
  closers.push(rooms.engine.close);
  const working = openWorkers(parts);
  closers.push(() => endAll(working, leftMs(limits.stopStoresMsMax + limits.stopFlushMsMin), log));
  let closing = false;
  const start = async () => {
    // Exports rely on the journal's watermark, so they start after it is verified.
    await capture.verified;
    if (closing) return;
    capture.startFlush();
    pool.flush();
    for (const worker of working) worker.start();
    await checkSecrets(stores.sql, rooms.secrets, config.secretKeyBefore !== undefined, log);
  };
  closers.push(() => void (closing = true));
  closers.push(prepared.whenReady(() => void start(), capture.end));
  const app = routes(parts);
  const server = await serve(app, { ...config, dataDir }, { count, pool, peers, closers });
  // Closed before the server waits for its requests: a stream never ends by itself.
  closers.push(() => consoleRoom.streams.close());
  site.url ??= server.url;
  recordAddress(dataDir, server.url);
  const { bootstrapped } = prepared;
  const key = bootstrapped?.personalApiKey;
  const home = withoutLast(site.url, "/");
  return {
    /** The URL at which it listens, e.g. http://127.0.0.1:8000. */
    url: server.url,
    bootstrapped,
    /**
     * Makes the address that opens the console once, signed in with the key of the first start; undefined later. The
     * caller shows it to a person: there is no code before the call.
     */
    signInUrl: () => key && `${home}/#code=${consoleRoom.signIn.offer(key)}`,
    /** Must be called after the keys are shown: later starts do not show keys. */
    shown: async () => void (bootstrapped && (await markServed(stores.sql))),
    /** Resolves to the reason when the server must stop. */
    broken: capture.broken,
    routes: app.routes as readonly DescribedRoute[],
  };
}

/** Listens, and starts the workers, which share the port and forward all requests that are not captures. */
async function serve(
  app: ReturnType<typeof routes>,
  config: Config,
  { count, pool, peers, closers }: Pick<ServerParts, "pool" | "peers"> & { count: number; closers: Closers },
): Promise<Listening> {
  const shared = count > 1;
  const server = listen(app, { ...config, shared, peers, isProxy: openProxies(config.trustedProxies) });
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
    postgres: nameDatabase(databaseUrl),
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

function health({ stores: { sql, clickhouse }, capture, watch, pool, metrics, config, log }: ServerParts) {
  const checks = {
    journal: async () => {
      await Promise.all([capture.check(), pool.check()]);
      const batches = capture.sessionBacklog();
      return batches === 0 ? undefined : `sessions of ${batches} batches are not derived`;
    },
    postgres: followSilence(metrics.registry, sql, systemClock),
    clickhouse: async () => {
      watch.check();
      return await checkClickHouse(clickhouse);
    },
  };
  followBackups(metrics.registry, config.dataDir);
  return healthRoutes({
    checks,
    captureChecks: config.captureAck === "stored" ? ["journal", "clickhouse"] : ["journal"],
    storedUntil: async () => (await readWatermarks(sql, systemClock.now())).through,
    metrics: () => pool.metrics(),
    metricsToken: config.metricsToken,
    registry: metrics.registry,
    clock: systemClock,
    log,
  });
}

function routes(parts: ServerParts) {
  const { stores, keys, recent, capture, memory, peers, exports, subscriptions } = parts;
  const { engine, addresses, secrets, consoleRoom, metrics, config, log } = parts;
  const [{ sql, clickhouse }, clock] = [stores, systemClock];
  const { trustedProxies, siteUrl, managementRateLimit: requestsPerMinute } = config;
  const sessions = sessionCookieFor(siteUrl);
  const gate = openGate({ sql, clock, log, recent, sessions, memory, requestsPerMinute });
  const clientAddress = openClientAddress({ trustedProxies, log });
  const readAddress = (request: Request) =>
    clientAddress(peers.of(request), request.headers) ??
    (request.headers.get(clientAddressHeader) || undefined);
  const answering = {
    ...capture.parts,
    readAddress,
    keys,
    clock,
    ack: config.captureAck,
    bodyBytesMax: config.bodyBytesMax,
    memory,
    recordingRetentionDays: config.recordingRetentionDays,
    counts: captureCounts(metrics),
    refused: refusalCounts(metrics, capture),
    failed: (error: unknown, request: Request) => problem({ error, code: "UNKNOWN", request }),
    observeSeconds: (value: number) => metrics.captureSeconds.observe(value),
  };
  const [send, scripts] = [openServerEvents(answering), openScripts()];
  const library = () => scripts.find("array.js")?.plain();
  const insights = { sql, queries: engine, clock };
  const sharing = { ...parts.sharing, guard: openLinkGuard({ clock, readAddress }) };
  const sharedParts = { recording: openSharedRecordings({ sql, clickhouse, clock }), page: sendShared };
  const app = openApplication();
  if (siteUrl !== undefined) app.onRequest(({ request }) => reachedAt(request, siteUrl));
  const problem = openProblems({
    log,
    routes: () => app.routes,
    refused: changeRefusals(metrics.registry),
    absent: absentFault,
  });
  return app
    .onError((failure) => problem(failure))
    .use(health(parts))
    .use(docsRoutes({ routes: () => app.routes }))
    .use(guideRoutes())
    .use(consoleRoutes({ gate, ...consoleRoom, openMetrics: config.metricsToken === undefined, log }))
    .use(captureRoutes(answering))
    .use(remoteConfigRoutes(gate, keys, (request) => readRequestKey(request, memory), library))
    .use(staticRoutes({ scripts }))
    .use(userRoutes({ gate, sql }))
    .use(accountRoutes({ gate, sql, clock, sessions, secrets, siteUrl, readAddress }))
    .use(organizationRoutes({ gate, sql }))
    .use(projectRoutes({ gate, sql, clickhouse, eventRetentionDays: config.eventRetentionDays }))
    .use(personalKeyRoutes({ gate, sql }))
    .use(batchExportRoutes({ gate, ...exports.parts }))
    .use(eventRoutes({ gate, clickhouse, clock, engine }))
    .use(personRoutes({ gate, sql, clickhouse, clock, send }))
    .use(groupRoutes({ gate, sql, clickhouse, clock, send }))
    .use(ingestionWarningRoutes({ gate, clickhouse, clock }))
    .use(queryRoutes({ gate, engine }))
    .use(insightRoutes({ gate, sharing, ...insights }))
    .use(dashboardRoutes({ gate, sql, sharing, ...openInsightShow(insights) }))
    .use(subscriptionRoutes({ gate, sql, clock, addresses }))
    .use(alertRoutes({ gate, sql, clock, addresses }))
    .use(linkRoutes({ sql, links: subscriptions.links, pictures: subscriptions.pictures }))
    .use(annotationRoutes({ gate, sql, clock }))
    .use(sessionRoutes({ gate, clickhouse }))
    .use(definitionRoutes({ gate, sql, clickhouse }))
    .use(sessionRecordingRoutes({ gate, sql, clickhouse, clock, log, server: config.modelServer, sharing }))
    .use(sharedRoutes({ ...sharing, ...sharedParts, reader: openBoardReader(insights), log, metrics }))
    .use(activityLogRoutes({ gate, sql, clock }))
    .use(absentResourceRoutes({ gate }));
}

/** The type for Eden clients. Routes that are mounted in a loop are not in it. */
export type Routes = ReturnType<typeof routes>;
