// Both stores, embedded or remote, opened and closed together.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { sleep } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type Log, toReason } from "../core/log.ts";
import { type ClickHouse, openClickHouse } from "./clickhouse/clickhouse.ts";
import { openClusterClient } from "./cluster/cluster_client.ts";
import { checkReplicas } from "./cluster/cluster_health.ts";
import type { Child } from "./embedded/child.ts";
import { startEmbeddedClickHouse } from "./embedded/clickhouse.ts";
import { type Connection, readConnection, removeConnection, writeConnection } from "./embedded/connection.ts";
import { startEmbeddedPostgres } from "./embedded/postgres.ts";
import { type KnownStores, refuseLostFolder } from "./identity.ts";
import { storageLimits } from "./limits.ts";
import { ownDataDir, ownsDataDir, readOwner, refuseHalfRestored } from "./lock.ts";
import { refuseNewerFolder } from "./migrations/folder_version.ts";
import { openPostgres, pingPostgres, type Postgres } from "./postgres/postgres.ts";

export interface Stores extends AsyncDisposable {
  sql: Postgres;
  clickhouse: ClickHouse;
  /** The DATA_DIR of an embedded Postgres that this process has started. */
  folder?: string;
  /** The process of an embedded ClickHouse that this process has started. */
  engine?: Child;
  close(): Promise<void>;
}

interface StoreOptions {
  dataDir: string;
  /** Default: the embedded one. */
  databaseUrl?: string | undefined;
  clickhouseUrl?: string | undefined;
  /** The name of the cluster that a remote ClickHouse is of. */
  clickhouseCluster?: string | undefined;
  /** Connections to Postgres at once; storageLimits.postgresConnectionsMax by default. */
  connectionsMax?: number;
  /** Fails unless both answer now; otherwise a remote store may come up later. */
  requireReachable?: boolean;
  /** Fails where there is no embedded Postgres yet, instead of initializing one. */
  existing?: boolean;
  /** The stores that the journal in DATA_DIR was used with: no embedded one is made in the place of another. */
  known?: KnownStores | undefined;
  log: Log;
}

/**
 * Opens both stores and owns DATA_DIR until they are closed. Embedded ones are started; nothing is migrated.
 * @throws UserError with the remedy.
 */
export async function openStores(options: StoreOptions): Promise<Stores> {
  const dataDir = resolve(options.dataDir);
  refuseNewerFolder(dataDir);
  refuseLostFolder({ ...options, dataDir }, options.known);
  await using opening = new AsyncDisposableStack();
  opening.use(ownDataDir(dataDir));
  if (readConnection(dataDir)) throw new Error(`this process has opened the stores of ${dataDir} already`);
  const embedded = await startEmbedded({ ...options, dataDir });
  opening.defer(() => embedded.stop());
  opening.defer(() => removeConnection(dataDir));
  const { database_url, clickhouse_url } = embedded.connection;
  if (database_url || clickhouse_url) writeConnection(dataDir, embedded.connection);
  const stores = connectStores(options, embedded.connection, opening.move());
  if (database_url) stores.folder = dataDir;
  if (embedded.engine) stores.engine = embedded.engine;
  return options.requireReachable ? reachable(stores, options) : stores;
}

/**
 * Attaches a command beside a server: uses the embedded stores of the process that owns this DATA_DIR, or starts its
 * own and owns the folder until they are closed.
 * @throws UserError when a store does not answer.
 */
export async function attachStores(options: StoreOptions): Promise<Stores> {
  if (options.databaseUrl && options.clickhouseUrl) return reachable(connectStores(options, {}), options);
  // Checked first, since even checking the lock creates the folder.
  refuseLostFolder(options, options.known);
  if (options.existing && !options.databaseUrl) requireData(options.dataDir);
  refuseNewerFolder(options.dataDir);
  const connection = await findOwner(options.dataDir);
  if (!connection) return openStores({ ...options, requireReachable: true });
  return reachable(connectStores(options, connection), options);
}

/** Attaches Postgres alone; an embedded one is initialized if needed, unless `existing` is set. */
export async function attachPostgres(options: StoreOptions) {
  await using opening = new AsyncDisposableStack();
  // Checked first, since even checking the lock creates the folder.
  if (options.existing && !options.databaseUrl) requireData(options.dataDir);
  let url = options.databaseUrl ?? (await findOwner(options.dataDir))?.database_url;
  if (!url) {
    opening.use(ownDataDir(options.dataDir));
    const started = await startEmbeddedPostgres(options);
    opening.defer(() => started.stop());
    url = started.url;
  }
  const sql = openPostgres(url, options);
  opening.defer(() => sql.end({ timeout: limits.connectMsMax / 1000 }));
  await reachPostgres(sql, url);
  const opened = opening.move();
  const close = () => opened.disposeAsync();
  return { sql, close, [Symbol.asyncDispose]: close };
}

/**
 * A command that only reads does not create stores: the folder's name may be misspelt.
 * @throws UserError when no server has ever started on the folder.
 */
function requireData(dataDir: string): void {
  const folder = resolve(dataDir);
  refuseHalfRestored(folder);
  if (existsSync(join(folder, "postgres", "PG_VERSION"))) return;
  const remedy = "set DATA_DIR or DATABASE_URL, or start one: bun run sluice serve";
  throw new UserError(`no server has ever started on DATA_DIR ${folder}: ${remedy}`);
}

/** Joins a process to the stores of another one, which owns them; `embedded`: whether the ClickHouse is embedded. */
export function joinStores(
  connection: Required<Pick<Connection, "database_url" | "clickhouse_url">> & {
    embedded: boolean;
    clickhouseCluster?: string | undefined;
  },
  log: Log,
): Stores {
  const { clickhouse_url: clickhouseUrl, embedded, clickhouseCluster } = connection;
  const remote = { clickhouseCluster, ...(!embedded && { clickhouseUrl }) };
  const { workerConnectionsMax: connectionsMax } = storageLimits;
  return connectStores({ dataDir: "", log, connectionsMax, ...remote }, connection);
}

/** Starts both at once: each takes half a second on a first start. */
async function startEmbedded(options: StoreOptions) {
  const starts = await Promise.allSettled([
    options.databaseUrl
      ? undefined
      : startEmbeddedPostgres({ ...options, insist: options.requireReachable ?? false }),
    options.clickhouseUrl ? undefined : startEmbeddedClickHouse(options),
  ]);
  const [postgres, clickhouse] = starts.map((start) =>
    start.status === "fulfilled" ? start.value : undefined,
  );
  const stop = async (): Promise<void> => {
    await Promise.all([postgres?.stop(), clickhouse?.stop()]);
  };
  const failed = starts.find((start) => start.status === "rejected");
  if (failed) {
    await stop();
    throw failed.reason;
  }
  const connection: Connection = {
    ...(postgres && { database_url: postgres.url }),
    ...(clickhouse && { clickhouse_url: clickhouse.url }),
  };
  return { connection, engine: clickhouse, stop };
}

/** Opens clients of remote and embedded stores; what `opened` has is disposed of when they are closed. */
function connectStores(
  options: StoreOptions,
  connection: Connection,
  opened = new AsyncDisposableStack(),
): Stores {
  const { log, connectionsMax } = options;
  const [databaseUrl, clickhouseUrl] = chooseUrls(options, connection);
  const sql = openPostgres(databaseUrl, { log, ...(connectionsMax !== undefined && { connectionsMax }) });
  const engine = openClickHouse(clickhouseUrl, { embedded: !options.clickhouseUrl });
  const { clickhouseCluster: name } = options;
  const clickhouse = name ? openClusterClient(engine, { name, database: engine.database }) : engine;
  opened.defer(() => clickhouse.close());
  opened.defer(() => sql.end({ timeout: limits.connectMsMax / 1000 }));
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= opened.disposeAsync());
  return { sql, clickhouse, close, [Symbol.asyncDispose]: close };
}

function chooseUrls(options: StoreOptions, connection: Connection): [string, string] {
  const databaseUrl = options.databaseUrl ?? connection.database_url;
  const clickhouseUrl = options.clickhouseUrl ?? connection.clickhouse_url;
  if (databaseUrl && clickhouseUrl) return [databaseUrl, clickhouseUrl];
  const missing = databaseUrl ? "CLICKHOUSE_URL" : "DATABASE_URL";
  throw new UserError(
    `the server on this DATA_DIR was started with ${missing}; set it for each command, as for: ` +
      `${missing}=URL bun run sluice doctor`,
  );
}

/** The stores of the process that owns the folder; undefined when no process does. */
async function findOwner(dataDir: string): Promise<Connection | undefined> {
  if (ownsDataDir(dataDir)) return readConnection(dataDir);
  refuseHalfRestored(dataDir);
  for (let waited = 0; ; waited += ownerAgainMs) {
    try {
      ownDataDir(dataDir).release();
      return undefined;
    } catch (thrown) {
      const connection = readConnection(dataDir);
      if (connection && connection.pid === readOwner(dataDir).pid) return connection;
      // The server may be starting.
      if (waited >= storageLimits.attachMsMax) throw thrown;
      await sleep(ownerAgainMs);
    }
  }
}

const ownerAgainMs = 100;

async function reachable(stores: Stores, options: StoreOptions): Promise<Stores> {
  try {
    const { databaseUrl, clickhouseUrl } = options;
    const reached = await Promise.allSettled([
      reachPostgres(stores.sql, databaseUrl),
      stores.clickhouse.ping(limits.connectMsMax).catch((thrown) => {
        throw unreachable("CLICKHOUSE_URL", clickhouseUrl, thrown);
      }),
    ]);
    const reasons = reached.flatMap((item) => (item.status === "rejected" ? [toReason(item.reason)] : []));
    if (reasons.length > 0) throw new UserError(reasons.join("; "));
    return stores;
  } catch (thrown) {
    await stores.close();
    throw thrown;
  }
}

async function reachPostgres(sql: Postgres, url: string | undefined): Promise<void> {
  await pingPostgres(sql, limits.connectMsMax).catch((thrown) => {
    throw unreachable("DATABASE_URL", url, thrown);
  });
}

/** Host and port only: the rest of the URL may be secret. */
function unreachable(variable: string, url: string | undefined, thrown: unknown): UserError {
  const address = url ? new URL(url).host : "embedded";
  return new UserError(`${variable} (${address}) does not answer: ${toReason(thrown).split("\n")[0]}`);
}

/** Resolves when ClickHouse answers; on a cluster to the problem of its replicas, if any. */
export async function checkClickHouse(clickhouse: ClickHouse): Promise<string | undefined> {
  if (clickhouse.cluster) return await checkReplicas(clickhouse, clickhouse.cluster);
  await clickhouse.ping();
  return undefined;
}
