// Migrations: applies the numbered files in sql/ to both stores, forward only, each once. A file that was changed after
// it was applied, a gap in the numbers, or a store of an incompatible version stops the start.

import { UserError } from "../core/fault.ts";
import { type Log, toCode, toReason } from "../core/log.ts";
import { type ClickHouse, ClickHouseError } from "./clickhouse/clickhouse.ts";
import { checkEngine } from "./clickhouse/engine_check.ts";
import { splitStatements } from "./clickhouse/statement.ts";
import { checkCluster } from "./cluster/cluster_check.ts";
import {
  appliedOnCluster,
  definitionsFor,
  findKeeperProblem,
  prepareCluster,
} from "./cluster/cluster_migrations.ts";
import { checkIdentity, type KnownStores, readPostgresId, writeClickHouseId } from "./identity.ts";
import { emptyIfUnmade } from "./identity_traces.ts";
import { storageLimits } from "./limits.ts";
import {
  type AppliedMigration,
  byStore,
  knownMigrations,
  listPending,
  type Migration,
  type MigrationFiles,
  newerStore,
  olderStore,
  readMigrations,
  type StoreName,
  type Versions,
} from "./migrations/files.ts";
import { writeFolderVersion } from "./migrations/folder_version.ts";
import { type BlockingServers, type OlderOptions, OlderServers } from "./migrations/older_servers.ts";
import { listUnknown, recordBegun } from "./migrations/versions_store.ts";
import { type Postgres, reserve } from "./postgres/postgres.ts";
import { storeLocks } from "./postgres/store_locks.ts";
import type { Stores } from "./stores.ts";

interface MigrateOptions extends OlderOptions {
  log: Log;
  /** Folders of `NNNN_name.sql`; by default this program's own. */
  postgresDir?: string;
  clickhouseDir?: string;
  /** The last files that are applied; by default all are. */
  until?: Versions;
  /** Refuses stores that a newer version has changed, even if this one could use them. */
  exact?: boolean;
  /** The stores that the journal in DATA_DIR was used with; other ones are refused. */
  known?: KnownStores | undefined;
  /** Whether the operator confirms that the stores belong together: ClickHouse gets the id of Postgres. */
  confirmed?: boolean;
}

type Counts = Record<StoreName, number>;

/**
 * Applies the files that are missing, Postgres first, and resolves to how many there were. Processes that start at once
 * migrate one after the other. Before a file that older servers are not compatible with, waits until none of them runs.
 * @throws UserError naming the file at fault or a store of others; any other error when a store does not answer.
 */
export async function migrate(
  { sql, clickhouse, folder }: Pick<Stores, "sql" | "clickhouse" | "folder">,
  options: MigrateOptions,
): Promise<Counts> {
  const { postgresDir, clickhouseDir, until } = options;
  const all = readMigrations({ postgres: postgresDir, clickhouse: clickhouseDir });
  const files = byStore((store) =>
    all[store].filter(({ isBaseline, version }) => !until || isBaseline || version <= until[store]),
  );
  const older = new OlderServers(options, options.log);
  for (;;) {
    const pass = await exclusively(sql, (connection) =>
      applyMissing({ connection, clickhouse, files, older, options }),
    );
    if ("done" in pass) {
      if (folder !== undefined) writeFolderVersion(folder);
      return pass.done;
    }
    await older.wait(pass.blocking);
  }
}

const appliedText = "SELECT version, name, checksum FROM schema_migrations";

export async function appliedMigrations(
  { sql, clickhouse }: Pick<Stores, "sql" | "clickhouse">,
  store: StoreName,
): Promise<AppliedMigration[]> {
  const found =
    store === "postgres"
      ? await sql.unsafe<AppliedMigration[]>(appliedText)
      : await clickhouse.query<AppliedMigration>(`${appliedText} FINAL`);
  const plain = found.map(({ version, name, checksum }) => ({ version, name, checksum }));
  return plain.toSorted((a, b) => a.version - b.version);
}

/** Lists what migrate() would apply, by store. Nothing is changed. @throws UserError as migrate() does. */
export async function pendingMigrations({ sql, clickhouse }: Pick<Stores, "sql" | "clickhouse">, log: Log) {
  const files = readMigrations();
  const compatible = await findCompatible(sql, files, { log });
  const pending = async (store: StoreName) => {
    const applied = await appliedMigrations({ sql, clickhouse }, store).catch(emptyIfUnmade);
    return listPending(files[store], applied, store, compatible[store]);
  };
  return { postgres: await pending("postgres"), clickhouse: await pending("clickhouse") };
}

/** The rows, by table, that decide how long a migration takes: of those that it copies, else of the events. */
export async function countMigratedRows(clickhouse: ClickHouse, { text, duration }: Migration) {
  const inserts = text.split(";").filter((statement) => /^INSERT INTO /m.test(statement));
  const copied = inserts.flatMap((statement) => /\bFROM (\w+)/.exec(statement)?.[1] ?? []);
  const tables = duration.seconds === 0 ? [] : new Set(copied.length > 0 ? copied : ["event_rows"]);
  const rows: [table: string, rows: number][] = [];
  for (const table of tables) rows.push([table, await countRows(clickhouse, table)]);
  return rows.filter(([, count]) => count > 0);
}

async function countRows(clickhouse: ClickHouse, table: string): Promise<number> {
  const counted = clickhouse.query<{ rows: string }>(`SELECT count() AS rows FROM ${table}`);
  const [found] = await counted.catch(emptyIfUnmade);
  return Number(found?.rows ?? 0);
}

interface MigrationPass {
  connection: Reserved;
  clickhouse: ClickHouse;
  files: MigrationFiles;
  older: OlderServers;
  options: MigrateOptions;
}

/** Applies what is missing, unless older servers run that are not compatible: then nothing is changed. */
async function applyMissing(pass: MigrationPass): Promise<{ done: Counts } | { blocking: BlockingServers }> {
  const { connection, clickhouse, files, older, options } = pass;
  const compatible = await findCompatible(connection, files, options);
  let failure: unknown;
  const unlessWrong = (thrown: unknown): void => {
    if (thrown instanceof UserError) throw thrown;
    failure = thrown;
  };
  if (!options.confirmed) await checkIdentity(connection, clickhouse, options.known).catch(unlessWrong);
  const prepared = await preparePostgres(connection);
  const pending = listPending(files.postgres, prepared, "postgres", compatible.postgres);
  const applied = failure ? undefined : await prepareClickHouse(clickhouse).catch(unlessWrong);
  const isNew = applied?.recorded.length === 0;
  const more = applied
    ? listPending(files.clickhouse, applied.recorded, "clickhouse", compatible.clickhouse)
    : [];
  const blocking = await older.findBlocking(connection, { postgres: pending, clickhouse: more });
  if (blocking) return { blocking };
  for (const item of pending) await applyToPostgres(connection, item, options.log);
  // The server continues without ClickHouse for now, but not without its own Postgres tables.
  if (!applied) throw failure;
  // Making all tables again would undo what a newer version has replaced: that version has to do it.
  const remade = compatible.clickhouse.size > 0 ? [] : listPending(files.clickhouse, [], "clickhouse");
  const missing = applied.isIncomplete ? remade : more;
  if (more.some((file) => !missing.includes(file)))
    throw new UserError(
      "a server of the cluster lacks tables: start the older version once, and then this one",
    );
  // A new store is recorded once, as each record is a part of its own: a start that is killed meanwhile begins again.
  const portions = isNew ? [missing] : missing.map((item) => [item]);
  for (const portion of portions) await applyToClickHouse(pass, portion, more);
  await writeClickHouseId(clickhouse, await readPostgresId(connection), missing.length > 0);
  return { done: { postgres: pending.length, clickhouse: missing.length } };
}

/**
 * A newer version's migrations that this one is compatible with, by store.
 * @throws UserError when it is not compatible with one, complete or not.
 */
async function findCompatible(
  sql: Postgres,
  files: MigrationFiles,
  { exact, log }: Pick<MigrateOptions, "exact" | "log">,
): Promise<Record<StoreName, ReadonlySet<number>>> {
  const unknown = await listUnknown(sql, knownMigrations(files));
  const incompatible = unknown.findLast(({ older_go_on }) => exact || !older_go_on);
  const versions = byStore((store) =>
    unknown.filter((item) => item.store === store).map(({ version }) => version),
  );
  if (incompatible) throw newerStore(incompatible.store, versions[incompatible.store].at(-1)!);
  if (unknown.length > 0) {
    const newest = byStore((store) => versions[store].at(-1));
    log.info("a newer version has changed the stores; this one is compatible", newest);
  }
  return byStore((store) => new Set(versions[store]));
}

type Reserved = Awaited<ReturnType<Postgres["reserve"]>>;

/** Runs work under the lock. The lock is the connection's: if that breaks, so does the migration. */
async function exclusively<T>(sql: Postgres, run: (connection: Reserved) => Promise<T>): Promise<T> {
  using connection = await reserve(sql);
  await connection`SELECT set_config('lock_timeout', ${String(storageLimits.migrateMsMax)}, false)`;
  await connection`SELECT pg_advisory_lock(${storeLocks.migration}::bigint)`;
  try {
    return await run(connection);
  } finally {
    const unlocked = connection`
      SELECT pg_advisory_unlock(${storeLocks.migration}::bigint), set_config('lock_timeout', '0', false)`;
    await unlocked.catch(() => {});
  }
}

async function preparePostgres(connection: Reserved): Promise<AppliedMigration[]> {
  await connection`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`;
  return await connection.unsafe<AppliedMigration[]>(appliedText);
}

async function applyToPostgres(connection: Reserved, migration: Migration, log: Log): Promise<void> {
  const { version, name, path, text, checksum } = migration;
  // sql.begin() would take another connection than the one that holds the lock.
  await connection`BEGIN`;
  try {
    // The next commit that waits for the disk makes this one durable, too.
    await connection`SET LOCAL synchronous_commit = off`;
    await connection.unsafe(text).simple();
    await connection`
      INSERT INTO schema_migrations (version, name, checksum) VALUES (${version}, ${name}, ${checksum})`;
    await recordBegun(connection, "postgres", migration);
    await connection`COMMIT`;
  } catch (thrown) {
    await connection`ROLLBACK`.catch(() => {});
    throw isStatementError(thrown) ? new UserError(`${path} failed: ${toReason(thrown)}`) : thrown;
  }
  log.info("migrated", { file: path });
}

/** Postgres' own codes have five characters; classes 08, 53, 57 and 58 are about the server, not the file. */
function isStatementError(thrown: unknown): boolean {
  const code = toCode(thrown);
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|53|57|58)/.test(code);
}

/** @throws UserError where the first start of an older version was cut short: its tables have other columns. */
async function refuseHalfMade(clickhouse: ClickHouse): Promise<void> {
  const [found] = await clickhouse.query<{ older: number }>(
    `SELECT count() > 0 AND countIf(name = '$current_url') = 0 AS older FROM system.columns
     WHERE database = {database:String} AND table IN ('event_rows', 'event_rows_local')`,
    { database: clickhouse.database },
  );
  if (found?.older === 1) throw olderStore("clickhouse", "no migration");
}

/**
 * ClickHouse has no transactions: each statement can be repeated, and the records of the files in `more` are written
 * last.
 */
async function applyToClickHouse(pass: MigrationPass, portion: Migration[], more: Migration[]) {
  const { connection, clickhouse, options } = pass;
  const done: Migration[] = [];
  try {
    for (const migration of portion) {
      await recordBegun(connection, "clickhouse", migration);
      await runStatements(clickhouse, migration);
      if (more.includes(migration)) done.push(migration);
      options.log.info("migrated", { file: migration.path });
    }
  } catch (thrown) {
    // The first failure has the reason: where this fails, too, the next start applies these files again.
    await recordApplied(clickhouse, done).catch(() => {});
    throw thrown;
  }
  await recordApplied(clickhouse, done);
}

async function recordApplied(clickhouse: ClickHouse, done: readonly Migration[]): Promise<void> {
  if (done.length === 0) return;
  const columns = (["version", "name", "checksum"] as const).map((name) => done.map((file) => file[name]));
  const [versions, names, checksums] = columns;
  await clickhouse.command(
    `INSERT INTO schema_migrations (version, name, checksum) SELECT file.1, file.2, file.3 FROM (
       SELECT arrayJoin(arrayZip({versions:Array(UInt32)}, {names:Array(String)}, {checksums:Array(String)})) AS file)`,
    { versions, names, checksums },
  );
}

async function runStatements(clickhouse: ClickHouse, { path, text }: Migration): Promise<void> {
  for (const statement of splitStatements(text).flatMap((item) => definitionsFor(clickhouse, item))) {
    await clickhouse
      .command(statement, undefined, { timeoutMs: storageLimits.migrateMsMax })
      .catch((thrown: unknown) => {
        const lasting = isLasting(thrown) ? new UserError(`${path} failed: ${toReason(thrown)}`) : undefined;
        throw findKeeperProblem(thrown) ?? lasting ?? thrown;
      });
  }
}

const schemaTable = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    version UInt32,
    name String,
    checksum String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
  ) ENGINE = ReplacingMergeTree ORDER BY version
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 480`;

/** Creates the database, checks the engine, and resolves to what appliedOnCluster() does. */
async function prepareClickHouse(clickhouse: ClickHouse) {
  const { cluster, embedded } = clickhouse;
  await clickhouse.createDatabase();
  // The embedded engine is part of this program.
  if (!embedded) {
    await checkEngine(clickhouse);
    await checkCluster(clickhouse);
  }
  if (cluster)
    await prepareCluster(clickhouse, cluster, schemaTable, { timeoutMs: storageLimits.migrateMsMax });
  else await clickhouse.command(schemaTable);
  const applied = cluster
    ? await appliedOnCluster<AppliedMigration>(clickhouse, cluster)
    : { recorded: await clickhouse.query<AppliedMigration>(`${appliedText} FINAL`), isIncomplete: false };
  if (applied.recorded.length === 0) await refuseHalfMade(clickhouse);
  return applied;
}

/** Whether repeating is useless. Unknown names count, too: nobody else changes tables while a migration runs. */
function isLasting(thrown: unknown): boolean {
  if (!(thrown instanceof ClickHouseError)) return false;
  return thrown.kind === "refused" || lastingTypes.test(thrown.type);
}

const lastingTypes = new RegExp(
  "^(UNKNOWN_(?!PACKET)|NO_SUCH_|ILLEGAL_|BAD_ARGUMENTS|NOT_IMPLEMENTED|NUMBER_OF_" +
    "|.*_ALREADY_EXISTS|INCORRECT_QUERY)",
);
