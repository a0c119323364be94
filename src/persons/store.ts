// Merges of persons: decided in Postgres, one transaction for each journal segment. A segment is applied once, however
// often it is sent.

import {
  arrayText,
  type Postgres,
  type PostgresFragment,
  type PostgresTransaction as Transaction,
} from "../storage/postgres/postgres.ts";
import { slices } from "../work/slices.ts";
import { addTypes, type AnnouncedType, lockMerges, type RefusedType } from "./group_type_store.ts";
import { type AddedId, type KnownId, type Merge, MergePlan, type Moved } from "./merge.ts";

export interface Applied {
  /** Version of the rows that this transaction wrote, for mirrorMerges(). */
  version: string;
  refused: Merge[];
  /** Group types that got no index: the project has five already, or does not allow them. */
  refusedTypes: RefusedType[];
}

/**
 * Applies a segment's merges in order, then its group types; `types` may still be filled while merges are read. A
 * segment that was applied before has no effect. It is one transaction. Merges are read in slices, so that few are in
 * memory at once.
 */
export async function applyMerges(
  sql: Postgres,
  name: string,
  merges: AsyncIterable<readonly Merge[]> | Iterable<readonly Merge[]>,
  types: readonly AnnouncedType[],
): Promise<Applied> {
  return await sql.begin(async (transaction) => {
    await lockMerges(transaction);
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
    // Forces look-ups by index, id by id. The planner misjudges the length of an array and would read the whole table
    // each time, as would a cached plan from when the table was empty.
    await transaction`
      SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
        set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`;
    const grown = await watchGrowth(transaction);
    const refused: Merge[] = [];
    let slice: Merge[] = [];
    let isChain = false;
    const write = async () => {
      const written = await writeMerges(transaction, slice, version);
      for (const item of written.refused) refused.push(item);
      // A person with thousands of ids that is merged repeatedly is then moved once, not once a slice.
      isChain = written.moved * 2 > slice.length;
      await grown(slice.length);
      slice = [];
    };
    for await (const some of merges) {
      for (const item of some) slice.push(item);
      if (!isChain) await write();
    }
    if (slice.length > 0) await write();
    return { version, refused, refusedTypes: await addTypes(transaction, types, version) };
  });
}

/**
 * Runs ANALYZE whenever the table may have doubled. Without it, the planner believes that an emptied table has no
 * rows, and picks any index.
 */
async function watchGrowth(transaction: Transaction): Promise<(merges: number) => Promise<void>> {
  const [table] = await transaction<{ rows: number }[]>`
    SELECT greatest(reltuples, 0)::float8 AS rows FROM pg_class WHERE oid = 'merged_ids'::regclass`;
  let analyzedRows = table?.rows ?? 0;
  let added = 0;
  return async (merges) => {
    // A merge adds two ids at most.
    added += merges * 2;
    if (added <= analyzedRows) return;
    await transaction`ANALYZE merged_ids`;
    analyzedRows += added;
    added = 0;
  };
}

/** Runs in slices: encoding or parsing a long statement at once would hold the event loop. */
async function writeMerges(transaction: Transaction, merges: readonly Merge[], version: string) {
  let moved = 0;
  const plan = new MergePlan();
  for await (const some of slices(merges)) for (const item of some) plan.add(item);
  for await (const ids of slices(plan.added)) {
    for (const known of await findKnown(transaction, ids)) plan.load(known);
  }
  for await (const some of slices(merges)) for (const item of some) plan.decide(item);
  for await (const ids of slices(plan.added)) {
    const changes = ids.map((id) => plan.findChange(id)).filter((change) => change !== undefined);
    const byStored = Map.groupBy(changes, ({ stored }) => stored);
    moved += await move(transaction, byStored.get(true) ?? [], version);
    await add(transaction, byStored.get(false) ?? [], version);
  }
  return { refused: plan.refused, moved };
}

async function findKnown(transaction: Transaction, ids: readonly AddedId[]): Promise<KnownId[]> {
  const projects = arrayText(ids.map(({ project_id }) => project_id));
  const names = arrayText(ids.map(({ id }) => id));
  return await transaction<KnownId[]>`
    SELECT w.project_id, w.distinct_id, m.main_id
    FROM unnest(${projects}::text::integer[], ${names}::text::text[]) AS w(project_id, distinct_id)
    CROSS JOIN LATERAL (
      SELECT main_id FROM merged_ids WHERE project_id = w.project_id AND distinct_id = w.distinct_id OFFSET 0
    ) AS m`;
}

/**
 * Moves former main ids, and all ids under them, to their new main id. None of them is the main id of a row of add().
 * Returns the number of ids moved.
 */
async function move(transaction: Transaction, moved: readonly Moved[], version: string): Promise<number> {
  if (moved.length === 0) return 0;
  const { count } = await transaction`
    UPDATE merged_ids m
    SET main_id = w.main_id, merged_at = w.merged_at, created_at = w.created_at, version = ${version}::bigint
    FROM (
      SELECT w.*, found.place
      FROM ${unnestRows(transaction, moved)}
      CROSS JOIN LATERAL (
        SELECT ctid AS place FROM merged_ids WHERE project_id = w.project_id AND main_id = w.distinct_id OFFSET 0
      ) AS found
    ) AS w
    WHERE m.ctid = w.place`;
  return count;
}

async function add(transaction: Transaction, added: readonly Moved[], version: string): Promise<void> {
  if (added.length === 0) return;
  await transaction`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    SELECT w.project_id, w.distinct_id, w.main_id, w.merged_at, w.created_at, ${version}::bigint
    FROM ${unnestRows(transaction, added)}`;
}

/** Rows as a table `w`, one parameter for each column: much cheaper than JSON on both sides. */
function unnestRows(transaction: Transaction, rows: readonly Moved[]): PostgresFragment {
  return transaction`unnest(
    ${arrayText(rows.map(({ project_id }) => project_id))}::text::integer[],
    ${arrayText(rows.map(({ distinct_id }) => distinct_id))}::text::text[],
    ${arrayText(rows.map(({ main_id }) => main_id))}::text::text[],
    ${arrayText(rows.map(({ merged_at }) => merged_at))}::text::bigint[],
    ${arrayText(rows.map(({ created_at }) => created_at))}::text::bigint[]
  ) AS w(project_id, distinct_id, main_id, merged_at, created_at)`;
}

/** Forgets a segment after its journal has deleted it. */
export async function forgetSegment(sql: Postgres, name: string): Promise<void> {
  await sql`DELETE FROM merge_segments WHERE name = ${name}`;
}

/** Forgets all segments whose names end so: those of a journal without any. */
export async function forgetSegments(sql: Postgres, ending: string): Promise<void> {
  await sql`DELETE FROM merge_segments WHERE right(name, ${ending.length}::integer) = ${ending}`;
}
