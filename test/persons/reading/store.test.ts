// Persons put together of the rows of their ids, against a model; and what is asked for them.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ownPersonId } from "../../../src/persons/identity.ts";
import type { Person, StoredChange } from "../../../src/persons/reading/fold.ts";
import { findPersons, type Reading, readPersons } from "../../../src/persons/reading/store.ts";
import type { ProjectReads } from "../../../src/storage/clickhouse/query_options.ts";

/** Stored ids: which id each was merged into, when each was first seen, and a property that it set. */
interface World {
  mainOf: Record<string, string>;
  seen: Record<string, string>;
  plans: Record<string, string>;
}

const change = (distinct_id: string, more: Partial<StoredChange>): StoredChange => ({
  distinct_id,
  key: "",
  kind: 0,
  at: "0",
  tie: "0",
  op: 0,
  value: "",
  ...more,
});

/** The tables `merged_ids`, `seen` and `person_props` of a project, and the statements that were asked of them. */
function openProject({ mainOf, seen, plans }: World) {
  const asked: string[][] = [];
  const query = (text: string, { ids, each, all }: { ids: string[]; each: number; all: number }) => {
    asked.push(ids);
    if (text.includes("FROM seen")) {
      const times = ids
        .filter((id) => seen[id])
        .map((id) => change(id, { kind: 9, at: seen[id]!, value: `${seen[id]!} late` }));
      const set = (id: string) =>
        change(id, { key: "plan", at: `${id.length}00`, value: JSON.stringify(plans[id]) });
      return Promise.resolve([...times, ...ids.filter((id) => plans[id]).map(set)]);
    }
    const rows = Object.entries(mainOf).map(([distinct_id, main_id]) => ({
      distinct_id,
      main_id,
      merged_at: "5",
    }));
    const requested = text.includes("UNION ALL")
      ? rows.filter(({ distinct_id }) => ids.includes(distinct_id))
      : [];
    const mains = new Set([...ids, ...requested.map(({ main_id }) => main_id)]);
    const counts = new Map<string, number>();
    const under = rows.filter(({ main_id }) => {
      counts.set(main_id, (counts.get(main_id) ?? 0) + 1);
      return mains.has(main_id) && counts.get(main_id)! <= each;
    });
    return Promise.resolve([
      ...requested.map((row) => ({ ...row, requested: 1 })),
      ...under.slice(0, all).map((row) => ({ ...row, requested: 0 })),
    ]);
  };
  const longReads = { persons: { run: () => Promise.reject(new Error("by the engine")) } };
  return { asked, reads: { project_id: 7, query, clickhouse: { longReads } } as unknown as ProjectReads };
}

const find = async (world: World, ids: string[], reading?: Reading): Promise<Map<string, Person>> =>
  await findPersons(openProject(world).reads, ids, reading);

const merged: World = {
  mainOf: { b: "a", "😀": "a", "～": "a" },
  seen: { a: "2026-01-02", b: "2026-01-01", "😀": "2026-01-03", "～": "2026-01-04", alone: "2026-02-01" },
  plans: { a: "free", alone: "paid" },
};

test("a person has the ids of all that were merged, the main one first, the others by their bytes", async () => {
  const found = await find(merged, ["b"]);
  expect([...found.keys()]).toEqual(["b"]);
  expect(found.get("b")).toEqual({
    uuid: ownPersonId(7, "a"),
    distinct_ids: ["a", "b", "～", "😀"],
    distinct_ids_count: 4,
    properties: '{"plan":"free"}',
    created_at: "2026-01-01",
    last_seen_at: "2026-01-04 late",
    is_identified: true,
  });
});

test("an id that was never merged is a person of its own, and one that no event had is none", async () => {
  const found = await find(merged, ["alone", "never", "a"]);
  expect([...found.keys()]).toEqual(["alone", "a"]);
  expect(found.get("alone")).toMatchObject({
    distinct_ids: ["alone"],
    is_identified: false,
    properties: '{"plan":"paid"}',
  });
});

test("persons by their main ids come in that order; an id that was merged away is no main id", async () => {
  const { reads } = openProject(merged);
  const persons = await readPersons(reads, ["alone", "nobody", "a"]);
  expect(persons.map(({ distinct_ids: [main] }) => main)).toEqual(["alone", "a"]);
});

test("none asks nothing, one that was not merged asks two statements, and a merged one the others' rows besides", async () => {
  const asked = async (ids: string[]) => {
    const project = openProject(merged);
    await findPersons(project.reads, ids);
    return project.asked.map((one) => one.toSorted());
  };
  expect(await asked([])).toEqual([]);
  expect(await asked(["alone"])).toEqual([["alone"], ["alone"]]);
  expect(await asked(["b"])).toEqual([["b"], ["b"], ["a", "～", "😀"].toSorted()]);
});

test.each([
  ["ids of one person", { idsEachMax: 3 }, { idsEachMax: 2 }],
  ["ids of all persons", { idsMax: 3 }, { idsMax: 2 }],
])("%s beyond a bound are left to the engine", async (_, most, fewer) => {
  expect((await find(merged, ["b"], most)).get("b")!.distinct_ids_count).toBe(4);
  const refused = await find(merged, ["b"], fewer).catch((thrown: Error) => thrown.message);
  expect(refused).toBe("by the engine");
});

test("ids of a reply are bounded, their number is not", async () => {
  const ids = Array.from({ length: 1004 }, (_, i) => `id${String(i).padStart(4, "0")}`);
  const mainOf = Object.fromEntries(ids.slice(0, 1000).map((id) => [id, "m"]));
  const seen = Object.fromEntries([...ids, "m"].map((id) => [id, "2026-01-01"]));
  const person = (await find({ mainOf, seen, plans: {} }, ["m"])).get("m")!;
  expect([person.distinct_ids.length, person.distinct_ids_count]).toEqual([1000, 1001]);
  expect([person.distinct_ids[0], person.distinct_ids.at(-1)]).toEqual(["m", "id0998"]);
});

test("of any merges each id finds its person, with the first time and all ids of it", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const worlds = fc.record({
    mains: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 6, maxLength: 6 }),
    seen: fc.subarray(names),
    asked: fc.subarray(names),
  });
  const holds = fc.asyncProperty(worlds, async ({ mains, seen, asked }) => {
    // A main id has no row, and is merged into none.
    const into = names.map((_, i) => (mains[mains[i]!] === mains[i] ? names[mains[i]!]! : names[i]!));
    const pairs = names.flatMap((id, i) => (into[i] === id ? [] : [[id, into[i]!] as const]));
    const world = {
      mainOf: Object.fromEntries(pairs),
      seen: Object.fromEntries(seen.map((id) => [id, `2026-01-0${names.length - names.indexOf(id)}`])),
      plans: {},
    };
    const found = await find(world, asked);
    for (const id of names) {
      const main = world.mainOf[id] ?? id;
      const theirs = names.filter((one) => (world.mainOf[one] ?? one) === main && world.seen[one]);
      const person = found.get(id);
      if (!asked.includes(id) || theirs.length === 0) expect(person).toBeUndefined();
      else {
        expect(person!.uuid).toBe(ownPersonId(7, main));
        expect(new Set(person!.distinct_ids)).toEqual(new Set([main, ...theirs]));
        expect(person!.created_at).toBe(theirs.map((one) => world.seen[one]!).toSorted()[0]!);
      }
    }
  });
  await fc.assert(holds, { numRuns: 300 });
});
