// One id of three stores: Postgres makes it, ClickHouse and the journals in DATA_DIR have it, too. Stores with other
// ids are refused before anything is written to them; `sluice journal adopt` confirms them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "./clickhouse/clickhouse.ts";
import { quoteText } from "./clickhouse/statement.ts";
import { definitionsFor } from "./cluster/cluster_migrations.ts";
import { embeddedAddress } from "./embedded/connection.ts";
import { emptyIfUnmade, findContradiction, readRowTraces, readTraces, unmade } from "./identity_traces.ts";
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
export async function checkIdentity(sql: Postgres, clickhouse: ClickHouse, known: KnownStores | undefined) {
  const id = await readPostgresId(sql);
  if (known && known.database !== id) throw otherPostgres(known.postgres);
  const ids = await readClickHouseIds(clickhouse);
  if (ids.some((other) => other !== id)) throw otherClickHouse(clickhouse);
  if (ids.length > 0) return;
  const problem = findContradiction(
    id ? await readTraces(sql) : unmade,
    await readRowTraces(clickhouse),
    known,
  );
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
export async function writeClickHouseId(clickhouse: ClickHouse, id?: string, isIncomplete = false) {
  const ids = await readClickHouseIds(clickhouse);
  const isWritten = ids.length === 1 && ids[0] === id;
  if (id === undefined || (isWritten && !isIncomplete)) return;
  for (const statement of definitionsFor(clickhouse, identityTable))
    await clickhouse.command(statement, undefined, { timeoutMs: storageLimits.migrateMsMax });
  if (isWritten) return;
  const life = "(SELECT count() + 1 FROM store_identity)";
  await clickhouse.command(`INSERT INTO store_identity (id, life) SELECT {id:UUID}, ${life}`, { id });
}

/** The row with the highest `life` counts. */
const identityTable = `
  CREATE TABLE IF NOT EXISTS store_identity (id UUID, life UInt64) ENGINE = MergeTree ORDER BY life
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1`;
