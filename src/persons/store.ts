// Where merges rest: decided in Postgres, one transaction for each journal segment, mirrored to ClickHouse. Never
// applies a segment twice.

import { limits } from "../core/limits.ts";
import { inTurns } from "../core/turns.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import { ByteColumn, writeBlockHead, writeColumnHead } from "../storage/native.ts";
import type { Postgres, PostgresFragment, PostgresTransaction as Transaction } from "../storage/postgres.ts";
import { arrayText } from "../storage/array_text.ts";
import { type KnownId, type Merge, type Moved, type SightedId, MergePlan } from "./merge.ts";

/** A type of groups that was seen for the first time by some process. */
export interface SightedType {
  project_id: number;
  name: string;
}

export interface Applied {
  /** The transaction's number; its rows are mirrored by it. */
  version: string;
  refused: Merge[];
  /** Types beyond the five that a project may have. */
  refusedTypes: SightedType[];
}

/** Any number that nobody else locks: merges of all processes are decided one segment after the other. */
const lockKey = "7308332182925";

/** A segment's merges, some at a time: few are in memory at once. */
type MergesInOrder = AsyncIterable<readonly Merge[]> | Iterable<readonly Merge[]>;

/**
 * Applies a segment's merges in order, and then its types, which may be filled while merges are read. A segment that
 * was applied already changes nothing and refuses nothing. All or none of it, also when the process dies.
 */
export async function applyMerges(
  sql: Postgres,
  name: string,
  merges: MergesInOrder,
  types: readonly SightedType[],
): Promise<Applied> {
  return await sql.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`;
    const [begun] = await transaction<{ version: string }[]>`
      INSERT INTO merge_segments (name, version) VALUES (${name}, nextval('merge_versions'))
      ON CONFLICT (name) DO NOTHING
      RETURNING version::text`;
    if (!begun) {
      const [done] = await transaction<{ version: string }[]>`
        SELECT version::text FROM merge_segments WHERE name = ${name}`;
      return { version: done?.version ?? "0", refused: [], refusedTypes: [] };
    }
    const { version } = begun;
    // By index, id by id: what the planner guesses of an array's length would make it read the whole table each time.
    await transaction`
      SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`;
    const refused: Merge[] = [];
    let lot: Merge[] = [];
    let isChain = false;
    const write = async () => {
      const written = await writeMerges(transaction, lot, version);
      for (const one of written.refused) refused.push(one);
      // A person of thousands of ids that moves on and on is moved once more only, not lot by lot.
      isChain = written.moved * 2 > lot.length;
      lot = [];
    };
    for await (const some of merges) {
      for (const one of some) lot.push(one);
      if (!isChain) await write();
    }
    if (lot.length > 0) await write();
    return { version, refused, refusedTypes: await addTypes(transaction, types, version) };
  });
}

/** Statement by statement in slices: a long text would be made, and a long answer read, in one turn of the loop. */
async function writeMerges(
  transaction: Transaction,
  merges: readonly Merge[],
  version: string,
): Promise<{ refused: Merge[]; moved: number }> {
  let moved = 0;
  const plan = new MergePlan();
  for await (const some of inTurns(merges)) for (const one of some) plan.sight(one);
  for await (const ids of inTurns(plan.sighted)) {
    for (const known of await knownOf(transaction, ids)) plan.learn(known);
  }
  for await (const some of inTurns(merges)) for (const one of some) plan.decide(one);
  for await (const ids of inTurns(plan.sighted)) {
    const changes = ids.map((id) => plan.changeOf(id)).filter((change) => change !== undefined);
    moved += await move(
      transaction,
      changes.filter(({ stored }) => stored),
      version,
    );
    await add(
      transaction,
      changes.filter(({ stored }) => !stored),
      version,
    );
  }
  return { refused: plan.refused, moved };
}

/** What is stored of these ids. */
async function knownOf(transaction: Transaction, ids: readonly SightedId[]): Promise<KnownId[]> {
  const projects = arrayText(ids.map(({ project_id }) => project_id));
  const names = arrayText(ids.map(({ id }) => id));
  return await transaction<KnownId[]>`
    SELECT m.project_id, m.distinct_id, m.main_id
    FROM unnest(${projects}::text::integer[], ${names}::text::text[]) AS w(project_id, distinct_id)
    JOIN merged_ids m ON m.project_id = w.project_id AND m.distinct_id = w.distinct_id`;
}

/**
 * Main ids that are none any more, with all that is under them: returns how many ids. None of them is the main id of
 * a row of add().
 */
async function move(transaction: Transaction, moved: readonly Moved[], version: string): Promise<number> {
  if (moved.length === 0) return 0;
  const { count } = await transaction`
    UPDATE merged_ids m
    SET main_id = w.main_id, merged_at = w.merged_at, created_at = w.created_at, version = ${version}::bigint
    FROM ${rowsOf(transaction, moved)}
    WHERE m.project_id = w.project_id AND m.main_id = w.distinct_id`;
  return count;
}

async function add(transaction: Transaction, added: readonly Moved[], version: string): Promise<void> {
  if (added.length === 0) return;
  await transaction`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    SELECT w.project_id, w.distinct_id, w.main_id, w.merged_at, w.created_at, ${version}::bigint
    FROM ${rowsOf(transaction, added)}`;
}

/** Rows as a table `w`: a column a parameter, which costs a fraction of what JSON does on both sides. */
function rowsOf(transaction: Transaction, rows: readonly Moved[]): PostgresFragment {
  return transaction`unnest(
    ${arrayText(rows.map(({ project_id }) => project_id))}::text::integer[],
    ${arrayText(rows.map(({ distinct_id }) => distinct_id))}::text::text[],
    ${arrayText(rows.map(({ main_id }) => main_id))}::text::text[],
    ${arrayText(rows.map(({ merged_at }) => merged_at))}::text::bigint[],
    ${arrayText(rows.map(({ created_at }) => created_at))}::text::bigint[]
  ) AS w(project_id, distinct_id, main_id, merged_at, created_at)`;
}

/** One after the other: who comes first has the place. */
async function addTypes(
  transaction: Transaction,
  types: readonly SightedType[],
  version: string,
): Promise<SightedType[]> {
  const refused: SightedType[] = [];
  for (const { project_id, name } of types) {
    await transaction`
      INSERT INTO group_types (project_id, name, place, version)
      SELECT ${project_id}::integer, ${name}, count(*), ${version}::bigint
      FROM group_types WHERE project_id = ${project_id}
      HAVING count(*) < ${limits.groupTypesMax}
      ON CONFLICT (project_id, name) DO NOTHING`;
    const [kept] = await transaction`
      SELECT 1 FROM group_types WHERE project_id = ${project_id} AND name = ${name}`;
    if (!kept) refused.push({ project_id, name });
  }
  return refused;
}

type MirroredId = Moved & { version: number };

/** Copies to ClickHouse what a transaction wrote, as it is now. Again does no harm: the version decides. */
export async function mirrorMerges(sql: Postgres, clickhouse: ClickHouse, version: string): Promise<void> {
  const rows = sql<MirroredId[]>`
    SELECT project_id, distinct_id, main_id, merged_at, created_at, version
    FROM merged_ids WHERE version = ${version}::bigint`;
  let blocks: Uint8Array[] = [];
  let rowsWaiting = 0;
  const insert = async () => {
    if (rowsWaiting > 0) await clickhouse.insertNative("merged_ids", { bytes: blocks });
    [blocks, rowsWaiting] = [[], 0];
  };
  // Each few rows are read, and made a block, in a turn of their own.
  for await (const some of rows.cursor(limits.mergesAtOnceMax)) {
    if (some.length > 0) blocks.push(mergedBlock(some));
    rowsWaiting += some.length;
    if (rowsWaiting >= limits.mirrorRowsMax) await insert();
  }
  await insert();
  const types = await sql<{ project_id: number; name: string; place: number }[]>`
    SELECT project_id, name, place FROM group_types WHERE version = ${version}::bigint`;
  for (const { project_id, name, place } of types) {
    await clickhouse.command(
      `INSERT INTO group_types (project_id, group_type, place)
       SELECT {project_id:UInt32}, {name:String}, {place:UInt8}`,
      { project_id, name, place },
    );
  }
}

/** Forgets a segment that its journal has forgotten. */
export async function forgetSegment(sql: Postgres, name: string): Promise<void> {
  await sql`DELETE FROM merge_segments WHERE name = ${name}`;
}

const microsType = "DateTime64(6, 'UTC')";

function mergedBlock(rows: readonly MirroredId[]): Uint8Array {
  const out = new ByteColumn(rows.length * 96);
  writeBlockHead(out, 6, rows.length);
  const column = (name: string, type: string, write: (row: MirroredId) => void) => {
    writeColumnHead(out, name, type);
    for (const row of rows) write(row);
  };
  column("project_id", "UInt32", (row) => out.u32(row.project_id));
  column("distinct_id", "String", (row) => out.text(row.distinct_id));
  column("main_id", "String", (row) => out.text(row.main_id));
  column("merged_at", microsType, (row) => out.i64(row.merged_at));
  column("created_at", microsType, (row) => out.i64(row.created_at));
  column("version", "UInt64", (row) => out.i64(row.version));
  return out.filled();
}

/** The types of groups of every project. */
export async function listGroupTypes(sql: Postgres): Promise<SightedType[]> {
  return await sql<SightedType[]>`SELECT project_id, name FROM group_types ORDER BY project_id, place`;
}
