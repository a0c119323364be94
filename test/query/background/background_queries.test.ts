// Queries in the background: their ids, places, ends, and what is kept of them.

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import type { Access } from "../../../src/access/scope.ts";
import { Fault } from "../../../src/core/fault.ts";
import { silentLog } from "../../../src/core/log.ts";
import { BackgroundQueries, type QueryName } from "../../../src/query/background/background_queries.ts";
import { openQueryTexts } from "../../../src/query/engine.ts";
import { queryLimits } from "../../../src/query/limits.ts";
import { ResultCache } from "../../../src/query/results/result_cache.ts";
import type { QueryResult } from "../../../src/query/store.ts";

const result = { kind: "HogQLQuery", results: [[1]] } as unknown as QueryResult;

function accessOf(id: string, ...scopes: string[]): Access {
  return { key: { id, scopes } } as Access;
}

function nameOf(id: string, project_id = 1, access = accessOf("key", "query:read")): QueryName {
  return { project_id, access, id };
}

function openBackground() {
  let elapsed = 0;
  const project = { deletion: "", isDeleting: false };
  const clock = { now: () => elapsed, elapsed: () => elapsed };
  const sql = (() => Promise.resolve([{ timezone: "UTC", ...project }])) as never;
  const results = new ResultCache(clock);
  const background = new BackgroundQueries({
    sql,
    clock,
    log: silentLog,
    results,
    texts: openQueryTexts(clock),
  });
  /** Begins one that ends when told to. */
  const begin = async (name: QueryName, query: unknown = { kind: "A" }, readmitted: object | null = name) => {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    const state = { aborted: false };
    const readmit = () =>
      Promise.resolve(
        readmitted ? { access: name.access, project: { id: name.project_id }, ...readmitted } : undefined,
      );
    const compute = (abort: AbortSignal) => {
      abort.addEventListener("abort", () => {
        state.aborted = true;
        reject(new Error("aborted"));
      });
      return promise;
    };
    const found = await background.begin(name, { query, readmit: readmit as never, compute });
    const end = async (with_: QueryResult | Error = result) => {
      if (with_ instanceof Error) reject(with_);
      else resolve(with_);
      while (!(await background.find(name)).endedAt) await Bun.sleep(0);
    };
    /** Its end is read by nobody. */
    const endUnread = async () => {
      resolve(result);
      await Bun.sleep(0);
    };
    return { found, end, endUnread, state };
  };
  return { background, begin, results, project, pass: (ms: number) => void (elapsed += ms) };
}

/** What is known of it, with the rows of its result. */
async function read(background: BackgroundQueries, name: QueryName) {
  const { result: found, ...query } = await background.find(name);
  return { ...query, ...(found && { result: { ...found, results: [...found.results] } }) };
}

async function faultOf(act: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (typeof act === "function" ? act() : act);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Fault ? thrown.code : thrown;
  }
}

test("a query is found by its id with the key that started it, in its project, and with no other", async () => {
  const { background, begin } = openBackground();
  const name = nameOf("one");
  const { found, end } = await begin(name);
  expect(found).toMatchObject({ id: "one", project_id: 1 });
  expect(await background.find(name)).not.toHaveProperty("result");
  await end();
  expect(await read(background, name)).toMatchObject({ result, endedAt: new Date(0) });
  const others = [nameOf("two"), nameOf("one", 2), nameOf("one", 1, accessOf("other", "query:read"))];
  for (const other of others) {
    expect(await faultOf(background.find(other))).toBe("not_found");
    expect(await faultOf(() => background.makeCancel(other))).toBe("not_found");
  }
  await background.close();
});

test("a result requires the scopes that the key had", async () => {
  const { background, begin } = openBackground();
  const name = nameOf("one", 1, accessOf("key", "query:read", "person:read"));
  const { end } = await begin(name);
  await end();
  const narrowed = { ...name, access: accessOf("key", "query:read") };
  expect(await faultOf(background.find(narrowed))).toBe("permission_denied");
  expect(await faultOf(background.find({ ...name, access: accessOf("key", "*") }))).toBeUndefined();
  await background.close();
});

test("what a member began ends, and is read no more, when they become a reader", async () => {
  const { background, begin } = openBackground();
  const reads = (id: string, is_reader?: true) =>
    nameOf(id, 1, { key: { id: "key", scopes: ["query:read"], is_reader } } as Access);
  const { end } = await begin(reads("member's"));
  await end();
  expect(await faultOf(background.find(reads("member's", true)))).toBe("not_found");
  expect(await faultOf(background.find(reads("member's")))).toBe("not_found");
  const running = await begin(reads("runs"), {}, { access: reads("runs", true).access });
  const own = await begin(reads("reader's", true));
  await background.check();
  expect([running.state.aborted, own.state.aborted]).toEqual([true, false]);
  await own.end();
  expect(await read(background, reads("reader's", true))).toMatchObject({ result });
  await background.close();
});

test("asking the same again is the same query; another by its id waits for its end", async () => {
  const { background, begin } = openBackground();
  const { end } = await begin(nameOf("one"));
  const again = await begin(nameOf("one"));
  expect(again.found).toMatchObject({ id: "one" });
  expect(await faultOf(begin(nameOf("one"), { kind: "B" }))).toBe("conflict");
  await end();
  const next = await begin(nameOf("one"), { kind: "B" });
  expect(await background.find(nameOf("one"))).not.toHaveProperty("endedAt");
  await next.end();
  await background.close();
});

test("places are bounded, and one project leaves some to others", async () => {
  const { background, begin } = openBackground();
  const half = queryLimits.backgroundRunningMax / 2;
  const begun = [];
  for (let i = 0; i < half; i++) begun.push(await begin(nameOf(`${i}`)));
  expect(await faultOf(begin(nameOf("more")))).toBe("unavailable");
  expect(await faultOf(begin(nameOf("0", 2)))).toBeUndefined();
  await begun[0]!.end();
  await Bun.sleep(0);
  // Its share is of the places that are free.
  await begun[1]!.end();
  await Bun.sleep(0);
  expect(await faultOf(begin(nameOf("more")))).toBeUndefined();
  await background.close();
});

test("a deleted id ends its query, in the background or waited for", async () => {
  const { background, begin } = openBackground();
  const { state } = await begin(nameOf("one"));
  background.makeCancel(nameOf("one"))();
  expect([state.aborted, await faultOf(background.find(nameOf("one")))]).toEqual([true, "not_found"]);
  const left = new AbortController();
  const waits = (abort: AbortSignal) =>
    new Promise<never>((_, reject) => abort.addEventListener("abort", () => reject(new Error("gone"))));
  const awaited = faultOf(background.attend(nameOf("two"), left.signal, waits));
  background.makeCancel(nameOf("two"))();
  expect(await awaited).toBe("conflict");
  expect(await faultOf(() => background.makeCancel(nameOf("two")))).toBe("not_found");
  const leaving = faultOf(background.attend(nameOf("two"), left.signal, waits));
  left.abort();
  expect(await leaving).toEqual(new Error("gone"));
  await background.close();
});

test("a query ends when its key is refused, has lost a scope or reaches another project", async () => {
  const { background, begin } = openBackground();
  const stays = await begin(nameOf("stays"));
  const refused = await begin(nameOf("refused"), {}, null);
  const narrowed = await begin(nameOf("narrowed"), {}, { access: accessOf("key", "person:read") });
  const moved = await begin(nameOf("moved"), {}, { project: { id: 7 } });
  await background.check();
  const ended = [stays, refused, narrowed, moved].map(({ state }) => state.aborted);
  expect(ended).toEqual([false, true, true, true]);
  expect(await faultOf(background.find(nameOf("refused")))).toBe("not_found");
  await background.close();
  expect(stays.state.aborted).toBe(true);
});

test("what failed says why, and nothing of an error that is ours", async () => {
  const { background, begin } = openBackground();
  const wrong = await begin(nameOf("wrong"));
  await wrong.end(new Fault("invalid_input", "There is no column x."));
  expect(await background.find(nameOf("wrong"))).toMatchObject({
    fault: { detail: "There is no column x." },
  });
  const broken = await begin(nameOf("broken"));
  await broken.end(new Error("secret"));
  expect(await background.find(nameOf("broken"))).toMatchObject({ fault: { code: "error" } });
  await background.close();
});

test("a result is forgotten after ten minutes, and when it is too long it is not kept", async () => {
  const { background, begin, pass } = openBackground();
  const { end } = await begin(nameOf("one"));
  await end();
  pass(queryLimits.resultKeptMs);
  expect(await read(background, nameOf("one"))).toMatchObject({ result });
  pass(1);
  expect(await faultOf(background.find(nameOf("one")))).toBe("not_found");
  const long = { ...result, results: [["x".repeat(queryLimits.resultsOfProjectBytesMax)]] };
  const longer = await begin(nameOf("long"));
  await longer.end(long);
  expect(await background.find(nameOf("long"))).toMatchObject({ fault: { code: "invalid_input" } });
  await background.close();
});

test("a result is forgotten when persons or recordings are deleted, and when results of its project are", async () => {
  const { background, begin, project, results } = openBackground();
  const changes = [() => (project.deletion = "7"), () => (project.isDeleting = true), () => results.clear()];
  for (const change of changes) {
    const { end } = await begin(nameOf("one"));
    await end();
    expect(await read(background, nameOf("one"))).toMatchObject({ result });
    change();
    expect(await faultOf(background.find(nameOf("one")))).toBe("not_found");
  }
  // One that is asked while they are being deleted is given.
  const { end } = await begin(nameOf("one"));
  await end();
  expect(await read(background, nameOf("one"))).toMatchObject({ result });
  await background.close();
});

test("of those that ended a project has a bounded number, the first to end are forgotten first", async () => {
  const { background, begin } = openBackground();
  const slow = await begin(nameOf("begun first"));
  for (let i = 0; i < queryLimits.backgroundKeptOfProjectMax; i++) {
    await (await begin(nameOf(`${i}`))).endUnread();
  }
  await slow.endUnread();
  expect(await faultOf(background.find(nameOf("0")))).toBe("not_found");
  for (const id of ["1", "begun first"]) expect(await read(background, nameOf(id))).toMatchObject({ result });
  await background.close();
});

test("one whose end was read is forgotten before those whose end was not", async () => {
  const { background, begin } = openBackground();
  for (let i = 0; i <= queryLimits.backgroundKeptOfProjectMax; i++) {
    const query = await begin(nameOf(`${i}`));
    await (i === 7 ? query.end() : query.endUnread());
  }
  expect(await faultOf(background.find(nameOf("7")))).toBe("not_found");
  expect(await read(background, nameOf("0"))).toMatchObject({ result });
  await background.close();
});

/** Bytes of the heap, texts outside of it included, once nothing is left to be collected. */
function heapBytes(): number {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

test("of a query that ended its text is not held, which may have a megabyte", async () => {
  const { background, begin } = openBackground();
  const textChars = 1_000_000;
  const before = heapBytes();
  for (let i = 0; i < 50; i++) {
    const { end } = await begin(nameOf(`${i}`), { kind: String(i).padEnd(textChars, "x") });
    await end();
  }
  expect(heapBytes() - before).toBeLessThan(10 * textChars);
  expect(await read(background, nameOf("0"))).toMatchObject({ result });
  await background.close();
});

test("queries that run are counted by their bytes: a project has half, and one that does not fit is refused with a time to retry", async () => {
  const { background, begin } = openBackground();
  const long = { kind: "x".repeat(1_000_000) };
  const ofProject = Math.floor(queryLimits.queriesOfProjectBytesMax / 1_000_000);
  const begun = [];
  for (let i = 0; i < ofProject; i++) begun.push(await begin(nameOf(`${i}`), long));
  expect(await faultOf(begin(nameOf("more"), long))).toBe("unavailable");
  expect(await faultOf(begin(nameOf("short")))).toBeUndefined();
  expect(await faultOf(begin(nameOf("0", 2), long))).toBeUndefined();
  await begun[0]!.end();
  await Bun.sleep(0);
  expect(await faultOf(begin(nameOf("more"), long))).toBeUndefined();
  await background.close();
});
