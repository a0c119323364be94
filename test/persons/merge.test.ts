import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Change, type KnownId, type Merge, mergeKind, MergePlan } from "../../src/persons/merge.ts";

/** A row of merged_ids. */
interface Row {
  main_id: string;
  merged_at: number;
}

interface Planned {
  added: Change[];
  moved: Change[];
  refused: Merge[];
}

/** What the store takes in slices, at once. */
function planMerges(merges: readonly Merge[], known: readonly KnownId[]): Planned {
  const plan = new MergePlan();
  for (const one of merges) plan.add(one);
  const ids = new Set(plan.added.map(({ project_id, id }) => `${project_id}:${id}`));
  for (const one of known) if (ids.has(`${one.project_id}:${one.distinct_id}`)) plan.load(one);
  for (const one of merges) plan.decide(one);
  const changes = plan.added.map((id) => plan.findChange(id)).filter((change) => change !== undefined);
  const [added, moved] = [changes.filter(({ stored }) => !stored), changes.filter(({ stored }) => stored)];
  return { added, moved, refused: plan.refused };
}

/** Applies a plan to rows as the store's statements do. */
function applied(rows: ReadonlyMap<string, Row>, { added, moved }: Planned): Map<string, Row> {
  const after = new Map(rows);
  for (const { distinct_id, main_id, merged_at } of moved) {
    for (const [id, row] of rows) if (row.main_id === distinct_id) after.set(id, { main_id, merged_at });
  }
  for (const { distinct_id, main_id, merged_at } of added) {
    expect(after.has(distinct_id)).toBe(false);
    after.set(distinct_id, { main_id, merged_at });
  }
  return after;
}

function knownOf(rows: ReadonlyMap<string, Row>): KnownId[] {
  return [...rows].map(([distinct_id, { main_id }]) => ({ project_id: 1, distinct_id, main_id }));
}

/** One merge after the other, in as few words as possible. */
function naive(merges: readonly Merge[]): { rows: Map<string, Row>; refused: number } {
  const rows = new Map<string, Row>();
  let refused = 0;
  for (const { kind, from, into, at } of merges) {
    const [a, b] = [rows.get(from)?.main_id ?? from, rows.get(into)?.main_id ?? into];
    if (a === b) continue;
    if (kind === mergeKind.identify ? rows.has(a) : kind === mergeKind.alias && rows.has(a) && rows.has(b)) {
      refused++;
      continue;
    }
    for (const [id, row] of rows) if (row.main_id === a) rows.set(id, { main_id: b, merged_at: at });
    rows.set(a, { main_id: b, merged_at: at });
    if (!rows.has(b)) rows.set(b, { main_id: b, merged_at: at });
  }
  return { rows, refused };
}

const id = fc.constantFrom(..."abcdefgh");
const merges = fc
  .array(fc.record({ kind: fc.constantFrom(1, 1, 2, 3), from: id, into: id }), { maxLength: 30 })
  .map((all) => all.map((one, i): Merge => ({ ...one, project_id: 1, at: i + 1, created_at: i + 1 })));

test("merges in segments of any length are the merges one after the other: chains, cycles, opposite ones", () => {
  fc.assert(
    fc.property(merges, fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), (all, cuts) => {
      let rows = new Map<string, Row>();
      let refused = 0;
      const ends = [...cuts.toSorted((a, b) => a - b), all.length];
      for (const [i, end] of ends.entries()) {
        const plan = planMerges(all.slice(ends[i - 1] ?? 0, end), knownOf(rows));
        refused += plan.refused.length;
        rows = applied(rows, plan);
      }
      const expected = naive(all);
      expect(Object.fromEntries([...rows].toSorted())).toEqual(
        Object.fromEntries([...expected.rows].toSorted()),
      );
      expect(refused).toBe(expected.refused);
    }),
    { numRuns: 3000 },
  );
});

test("a long chain in one segment is no quadratic matter, and projects keep apart", () => {
  const chain = Array.from({ length: 50_000 }, (_, i): Merge => {
    return {
      project_id: 1,
      kind: mergeKind.dangerous,
      from: `a${i}`,
      into: `a${i + 1}`,
      at: i,
      created_at: i,
    };
  });
  const { added, moved } = planMerges([...chain, { ...chain[0]!, project_id: 2 }], []);
  expect(moved).toEqual([]);
  expect(added.filter(({ project_id }) => project_id === 2)).toHaveLength(2);
  expect(new Set(added.filter(({ project_id }) => project_id === 1).map(({ main_id }) => main_id))).toEqual(
    new Set(["a50000"]),
  );
});

test("an id without a letter is an id like any other", () => {
  const plan = new MergePlan();
  const merge: Merge = { project_id: 1, kind: mergeKind.alias, from: "", into: "main", at: 1, created_at: 1 };
  plan.add(merge);
  plan.decide(merge);
  const changes = plan.added.map((one) => plan.findChange(one)?.distinct_id);
  expect(changes).toContain("");
});
