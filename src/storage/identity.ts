// One id of three stores: Postgres makes it, ClickHouse and the journals in DATA_DIR have it, too. Stores with other
// ids are refused before anything is written to them; `sluice journal adopt` confirms them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { toCode } from "../core/log.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "./clickhouse/clickhouse.ts";
import { quoteText } from "./clickhouse/statement.ts";
import { definitionsFor } from "./cluster/cluster_migrations.ts";
import { embeddedAddress } from "./embedded/connection.ts";
import { storageLimits } from "./limits.ts";
import type { Postgres } from "./postgres/postgres.ts";

/** Facts that the journal in DATA_DIR has of the stores it was used with. */
export interface KnownStores {
  database: string;
  /** Address of Postgres, as nameDatabase() returns it. */
  postgres: string;
  /** Whether rows of it were stored, and none waits. */
  hasSent: boolean;
}

/** A store that belongs to others ends the server, also after its start. */
export class WrongStore extends UserError {}

const confirm = "if this is intended, confirm it with: bun run sluice journal adopt";

/** @throws UserError when an embedded store is gone: a folder with a journal had its stores before. */
export function refuseLostFolder(
  urls: { dataDir: string; databaseUrl?: string | undefined; clickhouseUrl?: string | undefined },
  known: KnownStores | undefined,
): void {
  const { dataDir, databaseUrl, clickhouseUrl } = urls;
  const stores = [
    ["postgres", "PG_VERSION", databaseUrl, "DATABASE_URL"],
    ["clickhouse", "store", clickhouseUrl, "CLICKHOUSE_URL"],
  ] as const;
  for (const [name, file, url, setting] of known ? stores : []) {
    if (url !== undefined || existsSync(join(dataDir, name, file))) continue;
    throw new WrongStore(
      `${dataDir}/${name} is missing, and ${dataDir}/journal was used with it or another store: mount it, set ` +
        `${setting}, or restore a backup into a new folder (bun run sluice restore) and put this journal in the ` +
        "place of its; to go on with an empty one, confirm it with: bun run sluice journal adopt",
    );
  }
}

/** @throws WrongStore when they do not belong together; any other error when one does not answer. */
export async function checkIdentity(
  sql: Postgres,
  clickhouse: ClickHouse,
  known: KnownStores | undefined,
): Promise<void> {
  const id = await readPostgresId(sql);
  if (known && known.database !== id) throw otherPostgres(known.postgres);
  const ids = await readClickHouseIds(clickhouse);
  if (ids.some((other) => other !== id)) throw otherClickHouse(clickhouse);
  if (ids.length > 0) return;
  const problem = findContradiction(id ? await readTraces(sql) : unmade, await readRows(clickhouse), known);
  if (problem !== undefined) throw otherClickHouse(clickhouse, problem);
}

/**
 * A client that writes to a ClickHouse only where it has just seen the id that is its own.
 * @param end is called with the reason when another one answers.
 */
export function onlyWithId(
  clickhouse: ClickHouse,
  { id, clock, end }: { id: string; clock: Clock; end: (reason: WrongStore) => void },
): ClickHouse {
  let seenAt = Number.NEGATIVE_INFINITY;
  // The embedded one can only change while it does not answer.
  const seenMs = clickhouse.embedded ? Number.POSITIVE_INFINITY : storageLimits.idSeenMsMax;
  const see = async (): Promise<void> => {
    if (clock.elapsed() - seenAt < seenMs) return;
    const [found] = await readClickHouseIds(clickhouse, true);
    if (found === id) return void (seenAt = clock.elapsed());
    if (found === undefined) throw new Error("this ClickHouse has no id");
    const reason = otherClickHouse(clickhouse);
    end(reason);
    throw reason;
  };
  const once =
    <Sent extends unknown[]>(write: (...sent: Sent) => Promise<void>) =>
    async (...sent: Sent): Promise<void> => {
      await see();
      await write(...sent).catch((thrown: unknown) => {
        seenAt = Number.NEGATIVE_INFINITY;
        throw thrown;
      });
    };
  const { command, insertNative, insertDerived } = clickhouse;
  const inserts = { insertNative: once(insertNative), insertDerived: once(insertDerived) };
  return { ...clickhouse, command: once(command), ...inserts };
}

function otherClickHouse({ database }: ClickHouse, problem = "it has the id of another one"): WrongStore {
  return new WrongStore(
    `the ClickHouse database ${database} does not belong to this Postgres: ${problem}; correct CLICKHOUSE_URL or ` +
      `DATABASE_URL, or mount or restore what is missing; ${confirm}`,
  );
}

/** The refusal of a Postgres that is not the one at `before`. */
export function otherPostgres(before: string): WrongStore {
  const [place, setting] =
    before === embeddedAddress
      ? ["the embedded Postgres", "unset DATABASE_URL, or move to remote stores with: bun run sluice move"]
      : [`the Postgres ${before}`, "set that DATABASE_URL, or restore that database"];
  return new WrongStore(
    `the journal in DATA_DIR belongs to ${place}, and this Postgres is another one; the journal keeps what it has: ` +
      `${setting}; ${confirm}`,
  );
}

export async function readPostgresId(sql: Postgres): Promise<string | undefined> {
  const found = await sql<{ id: string }[]>`SELECT id::text FROM database_identity`.catch(emptyIfUnmade);
  return found[0]?.id;
}

/** The ids of a cluster's servers that answer, or of `here`, the one that is queried; none before the first start. */
export async function readClickHouseIds(clickhouse: ClickHouse, here = false): Promise<string[]> {
  const { cluster } = clickhouse;
  const all = cluster && [cluster.name, cluster.database, "store_identity"].map(quoteText).join(", ");
  const from = all && !here ? `clusterAllReplicas(${all})` : "store_identity";
  const options: QueryOptions = all && !here ? { settings: { skip_unavailable_shards: 1 } } : {};
  const text = `SELECT DISTINCT id FROM (SELECT toString(argMax(id, life)) AS id FROM ${from} GROUP BY hostName())`;
  try {
    const found = await clickhouse.query<{ id: string }>(text, undefined, options);
    return found.map(({ id }) => id);
  } catch (thrown) {
    // A new server of the cluster may lack the table; a cluster that does not exist is reported later.
    if (options.settings && thrown instanceof ClickHouseError) return readClickHouseIds(clickhouse, true);
    return emptyIfUnmade(thrown);
  }
}

/** Gives ClickHouse the id of its Postgres; `isIncomplete`: a server of the cluster may lack the table. */
export async function writeClickHouseId(
  clickhouse: ClickHouse,
  id?: string,
  isIncomplete = false,
): Promise<void> {
  const ids = await readClickHouseIds(clickhouse);
  const isWritten = ids.length === 1 && ids[0] === id;
  if (id === undefined || (isWritten && !isIncomplete)) return;
  for (const statement of definitionsFor(clickhouse, identityTable)) {
    await clickhouse.command(statement, undefined, { timeoutMs: storageLimits.migrateMsMax });
  }
  if (isWritten) return;
  const life = "(SELECT count() + 1 FROM store_identity)";
  await clickhouse.command(`INSERT INTO store_identity (id, life) SELECT {id:UUID}, ${life}`, { id });
}

/** The row with the highest `life` counts. */
const identityTable = `
  CREATE TABLE IF NOT EXISTS store_identity (id UUID, life UInt64) ENGINE = MergeTree ORDER BY life
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1`;

/**
 * Reads what Postgres knows of the events of its projects: the last numbers that it issued, and when it was made, in s.
 */
async function readTraces(sql: Postgres) {
  const last = (sequence: string) =>
    sql`coalesce((SELECT max(last_value) FROM pg_sequences WHERE sequencename = ${sequence}), 0)::integer`;
  const [traces] = await sql<{ projects: number; journals: number; made: number; hasMerges: boolean }[]>`
    SELECT ${last("projects_id_seq")} AS projects, ${last("journals_id_seq")} AS journals,
      EXISTS (SELECT FROM merged_ids) OR EXISTS (SELECT FROM group_types) AS "hasMerges",
      extract(epoch FROM least((SELECT min(applied_at) FROM schema_migrations),
        (SELECT min(created_at) FROM organizations)))::float AS made`;
  return traces!;
}

/** The rows of a ClickHouse without an id, and the first arrival, in s; undefined where there are no tables. */
async function readRows(clickhouse: ClickHouse) {
  // Bits 11 to 22 of a batch are its journal's number.
  const [rows] = await clickhouse
    .query<Record<"count" | "projects" | "journals" | "first", number>>(
      `SELECT toFloat64(max(project_id)) AS projects,
         toFloat64(max(bitAnd(bitShiftRight(_batch, 11), 4095))) AS journals,
         if(count() = 0, 1e12, toFloat64(min(created_at))) AS first,
         toFloat64(count() + (SELECT count() FROM snapshot_chunks) + (SELECT count() FROM ingestion_warnings)) AS count
       FROM event_rows`,
      undefined,
      { timeoutMs: storageLimits.migrateMsMax },
    )
    .catch(emptyIfUnmade);
  return rows;
}

type Traces = Awaited<ReturnType<typeof readTraces>>;
type Rows = Awaited<ReturnType<typeof readRows>>;

/** An empty Postgres. */
const unmade: Traces = { projects: 0, journals: 0, made: Number.POSITIVE_INFINITY, hasMerges: false };
const daySeconds = 86_400;
const journalNumbers = 4096;

/** Why a ClickHouse without an id cannot be this Postgres's; undefined when nothing speaks against it. */
export function findContradiction(
  { projects, journals, made, hasMerges }: Traces,
  rows: Rows,
  known?: Pick<KnownStores, "hasSent">,
): string | undefined {
  if (!rows) return projects > 0 ? "it has no tables, and there are projects already" : undefined;
  if (rows.count === 0)
    return hasMerges || known?.hasSent ? "it has no events, and there were some" : undefined;
  if (rows.projects > projects) return "it has events of projects that were never made";
  if (journals < journalNumbers && rows.journals > journals)
    return "it has batches of journals that never were";
  // Clocks of several servers may differ.
  if (rows.first < made - daySeconds) return "it has events from before there was one";
  return undefined;
}

function emptyIfUnmade(thrown: unknown): never[] {
  if (isUnmade(thrown)) return [];
  throw thrown;
}

/** Whether a store lacks the table: no server has started on it. */
export function isUnmade(thrown: unknown): boolean {
  if (thrown instanceof ClickHouseError) return /^UNKNOWN_(TABLE|DATABASE)$/.test(thrown.type);
  return toCode(thrown) === "42P01";
}
