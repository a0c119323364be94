// Migrations: applies the numbered files in sql/ to both stores, forward only, each once. A file that was changed
// after it was applied, a gap in the numbers, or a store that another version made stops the start.

import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../core/fault.ts";
import { storageLimits } from "./limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import { type ClickHouse, ClickHouseError } from "./clickhouse/clickhouse.ts";
import { checkEngine } from "./clickhouse/engine_check.ts";
import { checkCluster } from "./cluster/cluster_check.ts";
import {
  appliedOnCluster,
  complaintOfKeeper,
  definitionsFor,
  prepareCluster,
} from "./cluster/cluster_migrations.ts";
import type { Postgres } from "./postgres/postgres.ts";
import { statementsOf } from "./clickhouse/statement.ts";
import type { Stores } from "./stores.ts";

interface MigrateOptions {
  log: Log;
  /** Folders of `NNNN_name.sql`; by default this program's own. */
  postgresDir?: string;
  clickhouseDir?: string;
}

/**
 * Applies the files that are missing, Postgres first, and resolves to how many there were. Processes that start at
 * once take turns.
 * @throws UserError naming the file at fault; any other error when a store does not answer.
 */
export async function migrate(
  { sql, clickhouse }: Pick<Stores, "sql" | "clickhouse">,
  options: MigrateOptions,
): Promise<{ postgres: number; clickhouse: number }> {
  const postgresFiles = readFolder(options.postgresDir ?? packageFolder("postgres"));
  const clickhouseFiles = readFolder(options.clickhouseDir ?? packageFolder("clickhouse"));
  return exclusively(sql, async (connection) => ({
    postgres: await migratePostgres(connection, postgresFiles, options.log),
    clickhouse: await migrateClickHouse(clickhouse, clickhouseFiles, options.log),
  }));
}

interface Migration {
  version: number;
  /** The file's name. */
  name: string;
  /** Folder and file, for messages. */
  path: string;
  text: string;
  checksum: string;
}

export type AppliedMigration = Pick<Migration, "version" | "name" | "checksum">;

/** What a store has of the migrations, in order. */
export async function appliedMigrations(
  { sql, clickhouse }: Pick<Stores, "sql" | "clickhouse">,
  store: "postgres" | "clickhouse",
): Promise<AppliedMigration[]> {
  const text = "SELECT version, name, checksum FROM schema_migrations";
  const found =
    store === "postgres"
      ? await sql.unsafe<AppliedMigration[]>(text)
      : await clickhouse.query<AppliedMigration>(`${text} FINAL`);
  const plain = found.map(({ version, name, checksum }) => ({ version, name, checksum }));
  return plain.toSorted((a, b) => a.version - b.version);
}

/**
 * The paths of this program's files that made a store with these migrations.
 * @throws UserError when they are another program's.
 */
export function filesOfMigrations(store: "postgres" | "clickhouse", applied: AppliedMigration[]): string[] {
  const folder = packageFolder(store);
  const files = readFolder(folder);
  pendingOf(files, applied, store === "postgres" ? "Postgres" : "ClickHouse");
  return files.slice(0, applied.length).map(({ name }) => join(folder, name));
}

function packageFolder(store: string): string {
  return fileURLToPath(new URL(`../../sql/${store}`, import.meta.url));
}

/** The files in order; their numbers run from 1 without a gap. */
function readFolder(folder: string): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((name, index) => {
    const path = `sql/${basename(folder)}/${name}`;
    const version = Number(/^(\d{4})_\w+\.sql$/.exec(name)?.[1]);
    if (version !== index + 1) {
      const expected = String(index + 1).padStart(4, "0");
      throw new UserError(
        `${path}: expected ${expected}_name.sql here, as the files are numbered without gaps`,
      );
    }
    const text = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    return { version, name, path, text, checksum: new Bun.CryptoHasher("sha256").update(text).digest("hex") };
  });
}

/** The files that are not applied yet. @throws UserError when those that were applied are not this program's. */
function pendingOf(files: Migration[], applied: AppliedMigration[], store: string): Migration[] {
  const done = applied.toSorted((a, b) => a.version - b.version);
  const other = done.find(({ version, name }) => files[version - 1] && files[version - 1]?.name !== name);
  if (other) {
    throw new UserError(
      `another version of this program made the ${store} store (it has ${other.name}), and this one cannot read it; ` +
        "start with empty databases (embedded ones: an empty DATA_DIR) and import the events again",
    );
  }
  for (const [index, { version, checksum }] of done.entries()) {
    const file = files[version - 1];
    if (!file) {
      throw new UserError(
        `the ${store} store is at migration ${version}, newer than this program; run a newer one`,
      );
    }
    if (version !== index + 1)
      throw new UserError(`${files[index]?.path} was left out of the ${store} store`);
    if (checksum !== file.checksum) {
      throw new UserError(
        `${file.path} was changed after it was applied; restore it and add a new file instead`,
      );
    }
  }
  return files.slice(done.length);
}

type Reserved = Awaited<ReturnType<Postgres["reserve"]>>;

/** The advisory lock's number: the letters of "sluice", so that no other program has it by chance. */
const lockKey = "126943754085221";

/** Holds the lock while it runs. The lock is the connection's: if that breaks, so does the migration. */
async function exclusively<T>(sql: Postgres, run: (connection: Reserved) => Promise<T>): Promise<T> {
  const connection = await sql.reserve();
  try {
    await connection`SELECT set_config('lock_timeout', ${String(storageLimits.migrateMsMax)}, false)`;
    await connection`SELECT pg_advisory_lock(${lockKey}::bigint)`;
    try {
      return await run(connection);
    } finally {
      const unlocked = connection`
        SELECT pg_advisory_unlock(${lockKey}::bigint), set_config('lock_timeout', '0', false)`;
      await unlocked.catch(() => {});
    }
  } finally {
    connection.release();
  }
}

async function migratePostgres(connection: Reserved, files: Migration[], log: Log): Promise<number> {
  await connection`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`;
  const applied = await connection<AppliedMigration[]>`SELECT version, name, checksum FROM schema_migrations`;
  const pending = pendingOf(files, applied, "Postgres");
  for (const { version, name, path, text, checksum } of pending) {
    // Not sql.begin(), which would take another connection than the one that holds the lock.
    await connection`BEGIN`;
    try {
      await connection.unsafe(text).simple();
      await connection`
        INSERT INTO schema_migrations (version, name, checksum) VALUES (${version}, ${name}, ${checksum})`;
      await connection`COMMIT`;
    } catch (thrown) {
      await connection`ROLLBACK`.catch(() => {});
      throw isStatementError(thrown) ? new UserError(`${path} failed: ${reasonOf(thrown)}`) : thrown;
    }
    log.info("migrated", { file: path });
  }
  return pending.length;
}

/** Postgres' own codes have five characters; classes 08, 53, 57 and 58 are about the server, not the file. */
function isStatementError(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|53|57|58)/.test(code);
}

/** ClickHouse has no transactions: each statement can be repeated, and the file's record is written last. */
async function migrateClickHouse(clickhouse: ClickHouse, files: Migration[], log: Log): Promise<number> {
  const options = { timeoutMs: storageLimits.migrateMsMax };
  const applied = await prepareClickHouse(clickhouse);
  const pending = pendingOf(files, applied, "ClickHouse");
  for (const { version, name, path, text, checksum } of pending) {
    for (const statement of statementsOf(text).flatMap((one) => definitionsFor(clickhouse, one))) {
      await clickhouse.command(statement, undefined, options).catch((thrown) => {
        const lasting = isLasting(thrown) ? new UserError(`${path} failed: ${reasonOf(thrown)}`) : undefined;
        throw complaintOfKeeper(thrown) ?? lasting ?? thrown;
      });
    }
    const record = { version, name, checksum };
    await clickhouse.command(
      `INSERT INTO schema_migrations (version, name, checksum)
       SELECT {version:UInt32}, {name:String}, {checksum:String}`,
      record,
    );
    log.info("migrated", { file: path });
  }
  return pending.length;
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

/** Makes the database, checks the engine, and resolves to what was applied. */
async function prepareClickHouse(clickhouse: ClickHouse): Promise<AppliedMigration[]> {
  const { cluster, embedded } = clickhouse;
  await clickhouse.createDatabase();
  // The embedded one comes with us.
  if (!embedded) {
    await checkEngine(clickhouse);
    await checkCluster(clickhouse);
  }
  if (cluster) {
    await prepareCluster(clickhouse, cluster, schemaTable, { timeoutMs: storageLimits.migrateMsMax });
    return await appliedOnCluster<AppliedMigration>(clickhouse, cluster);
  }
  await clickhouse.command(schemaTable);
  return await clickhouse.query<AppliedMigration>(
    "SELECT version, name, checksum FROM schema_migrations FINAL",
  );
}

/** Whether repeating is useless. Unknown names count too: nobody else changes tables while a migration runs. */
function isLasting(thrown: unknown): boolean {
  if (!(thrown instanceof ClickHouseError)) return false;
  return thrown.kind === "refused" || lastingTypes.test(thrown.type);
}

const lastingTypes = new RegExp(
  "^(UNKNOWN_(?!PACKET)|NO_SUCH_|ILLEGAL_|BAD_ARGUMENTS|NOT_IMPLEMENTED|NUMBER_OF_" +
    "|.*_ALREADY_EXISTS|INCORRECT_QUERY)",
);
