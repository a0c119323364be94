// The parts of the server: stores, journal, rooms and background workers.

import { openAddresses } from "./access/address.ts";
import { openKeyCache } from "./access/key_cache.ts";
import { openProjectKeys } from "./access/project_keys.ts";
import { openSecrets } from "./access/secret.ts";
import { prepare } from "./accounts/prepare.ts";
import { openBatchExports } from "./batch_exports/open.ts";
import { readKnownStores } from "./capture/capture_journal.ts";
import { flushCounts } from "./capture/counts.ts";
import { journalsIn } from "./capture/journal/identity/journal_identity.ts";
import type { CaptureMetrics } from "./capture/metrics.ts";
import { openCapture } from "./capture/open.ts";
import { leftBehind, WorkerPool } from "./capture/workers/worker_pool.ts";
import type { Config } from "./config.ts";
import type { OpenedConsole } from "./console/open.ts";
import { systemClock } from "./core/clock.ts";
import type { Log } from "./core/log.ts";
import { hideExpired } from "./event_retention/hidden.ts";
import { openEventRetention } from "./event_retention/worker.ts";
import { PeerAddresses } from "./http/peer.ts";
import { openInsightReader } from "./insights/show.ts";
import { hideOrdered } from "./persons/deletion/store.ts";
import { openDeletions } from "./persons/deletion/worker.ts";
import { openQueries } from "./query/open.ts";
import { openRemoval } from "./session_recordings/remove.ts";
import { openSharing } from "./sharing/route.ts";
import { isSameDatabase, nameDatabase } from "./storage/embedded/connection.ts";
import { EngineWatch } from "./storage/engine_watch.ts";
import { storageLimits } from "./storage/limits.ts";
import { openStores, type Stores } from "./storage/stores.ts";
import { openSubscriptions } from "./subscriptions/open.ts";
import type { MemoryBudget } from "./work/bodies/memory_budget.ts";
import { startInterval, type Worker } from "./work/interval.ts";

export type Closers = (() => Promise<void> | void)[];

export interface Starting {
  config: Config;
  log: Log;
  /** The deadline of a stop, by systemClock.elapsed(). */
  stop: { until: number };
  ending?: AbortSignal;
  /** Opens what sends away the journal's archive; to be called before the first flush. */
  openArchive?: ((parts: Opening & Pick<Stores, "sql">) => Worker) | undefined;
}

export interface Opening extends Starting {
  dataDir: string;
  metrics: CaptureMetrics;
}

/**
 * The stores with their tables and first accounts, the journal, and the project keys.
 * @param count processes that capture, this one included.
 */
export async function openCapturing(opening: Opening, count: number, closers: Closers) {
  const { config, dataDir, metrics, log, ending } = opening;
  const postgres = nameDatabase(config.databaseUrl);
  const known = readKnownStores(dataDir);
  // Saved keys belong to the previous Postgres; with another database, a start waits until it answers.
  const insist = known === undefined || !isSameDatabase(known.postgres, postgres);
  const stores = await openStores({ ...config, dataDir, known, log, requireReachable: insist });
  closers.push(() => stores.close());
  const prepared = await prepare(stores, config, {
    insist,
    hide: () => hideRows(stores, config),
    known,
    alone: config.databaseUrl === undefined,
    ownJournals: journalsIn([dataDir, ...leftBehind(dataDir, 1)]),
    ...(ending && { ending }),
    log,
  });
  const recent = openKeyCache({ sql: stores.sql, clock: systemClock });
  closers.push(() => recent.close());
  const capture = await openCapture({
    ...config,
    dataDir,
    orphanDirs: leftBehind(dataDir, count),
    postgres,
    journalBytesMax: Math.floor(config.journalBytesMax / count),
    stores,
    counts: flushCounts(metrics, dataDir),
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

/** Hides from reads what is deleted later. */
async function hideRows(stores: Stores, config: Config): Promise<void> {
  await hideOrdered(stores.sql, stores.clickhouse);
  await hideExpired({ ...stores, clock: systemClock }, config.eventRetentionDays);
}

/**
 * The parts of queries, subscriptions and exports, shared or not.
 * @param siteUrl the URL at which people reach this server; known once it listens.
 */
export function openRooms({ config, dataDir, metrics, log }: Opening, stores: Stores, siteUrl: () => string) {
  const { sql, clickhouse } = stores;
  const addresses = openAddresses({ allowPrivate: config.allowPrivateDestinations });
  const secrets = openSecrets({ ...config, dataDir });
  const shared = { sql, clock: systemClock, log, metrics, addresses, secrets };
  const engine = openQueries({ ...shared, clickhouse, cpuSecondsMax: config.queryCpuSecondsMax });
  const reader = openInsightReader({ sql, queries: engine });
  const subscriptions = openSubscriptions({ ...config, ...shared, reader, siteUrl });
  const exports = openBatchExports({ ...config, ...shared, clickhouse, parse: engine.parse });
  return { exports, subscriptions, engine, addresses, secrets, sharing: openSharing(shared) };
}

/** Watches ClickHouse for the flushes of all workers. */
export function openEngineWatch({ metrics, log }: Opening, stores: Stores, pool: WorkerPool) {
  const readTrouble = () => pool.readTrouble();
  const watch = new EngineWatch({ ...stores, engine: stores.engine, readTrouble, clock: systemClock, log });
  const help = "Restarts of an embedded ClickHouse that was stuck.";
  metrics.registry.followed("counter", "sluice_engine_restarts_total", help, () => watch.restarts);
  const poll = () => watch.poll();
  const ticking = startInterval(storageLimits.engineWatchMs, "watching ClickHouse", poll, log);
  return { check: () => watch.check(), ticking };
}

type Rooms = ReturnType<typeof openRooms>;
type Capturing = Awaited<ReturnType<typeof openCapturing>>;

export interface ServerParts extends Opening, Rooms, Capturing {
  watch: ReturnType<typeof openEngineWatch>;
  pool: WorkerPool;
  memory: MemoryBudget;
  peers: PeerAddresses;
  consoleRoom: OpenedConsole;
}

export function openWorkers(all: ServerParts): Worker[] {
  const { exports, subscriptions, engine, metrics, stores } = all;
  const { eventRetentionDays: retentionDays } = all.config;
  const archive = all.openArchive?.({ ...all, sql: stores.sql });
  const parts = { ...stores, clock: systemClock, log: all.log, isArchived: archive !== undefined };
  const retention = openEventRetention({ ...parts, metrics, retentionDays, onExpired: engine.forgetResults });
  const working = [exports.worker, subscriptions, ...openDeletions(parts), openRemoval(parts), ...retention];
  return archive ? [archive, ...working] : working;
}
