// Results of links as two processes on one Postgres compute them, by a clock of the test's own.

import { heapStats } from "bun:jsc";
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { openSecrets } from "../../src/access/secret.ts";
import { openMetrics } from "../../src/capture/metrics.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { sharingLimits } from "../../src/sharing/limits.ts";
import {
  openSharedResults,
  type SharedBoard,
  type SharedInsight,
  type ShownBoard,
} from "../../src/sharing/results.ts";
import { getResult, type SharedLink } from "../../src/sharing/store.ts";
import { openLinkCache, presentSharing } from "../../src/sharing/tokens.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp, startMsMax);

let sql: Postgres;
let project_id: number;
let now = Date.parse("2026-03-04T10:00:00Z");
const clock = { now: () => now, elapsed: () => now };
const minuteMs = 60_000;

beforeAll(async () => {
  const accounts = await openFirstAccounts();
  later(() => accounts.close());
  ({ sql, project_id } = accounts);
}, startMsMax);

let targets = 1;

async function newLink(secretKey = "a secret of this test"): Promise<{ link: SharedLink; token: string }> {
  const secrets = openSecrets({ secretKey, dataDir: makeFolder() });
  const links = openLinkCache(sql, clock, secrets);
  const thing = { project_id, kind: "dashboard" as const, target: String(targets++) };
  const { access_token } = await presentSharing({ sql, clock, secrets, links }, thing, { enabled: true });
  const link = await links.find(String(access_token));
  return { link: link!, token: String(access_token) };
}

const content = { name: "Board", description: "", tiles: [{ insight_id: 1, text: null, layouts: {} }] };

const boardOf = (count: number): SharedBoard => ({
  timezone: "UTC",
  insights: [{ insight_id: 1, name: "One", description: "", results: [{ count }] }],
});

/** A process, and how often it computed. */
function openProcess() {
  const process = { computed: 0, fails: false };
  const reader = {
    current: async () => content,
    compute: async () => {
      process.computed++;
      if (process.fails) throw new Error("away");
      return boardOf(process.computed);
    },
  };
  const results = openSharedResults({ sql, clock, log: silentLog, metrics: openMetrics(), reader });
  return Object.assign(process, { results });
}

/** The insights of a board as its link shows them. */
function shownIn(shown: ShownBoard | undefined): Omit<SharedInsight, "insight_id">[] {
  return [...shown!.board.insights.values()].map((parts) =>
    JSON.parse(`{${Buffer.concat(parts).toString()}`),
  );
}

function without({ insight_id, ...insight }: SharedInsight): Omit<SharedInsight, "insight_id"> {
  expect(insight_id).toBeGreaterThan(0);
  return insight;
}

test("however many requests, in two processes, results are computed once in fifteen minutes", async () => {
  const { link } = await newLink();
  const [one, other] = [openProcess(), openProcess()];
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? one : other).results.show(link)),
  );
  expect(new Set(all.map((shown) => shown!.computed_at.getTime())).size).toBe(1);
  expect(one.computed + other.computed).toBe(1);
  now += 14 * minuteMs;
  await Promise.all([one, other].map(({ results }) => results.show(link)));
  expect(one.computed + other.computed).toBe(1);
  now += 2 * minuteMs;
  const later = await Promise.all([one, other].map(({ results }) => results.show(link)));
  expect(one.computed + other.computed).toBe(2);
  expect(later.every((shown) => shown !== undefined)).toBe(true);
});

test("a computation that fails shows the results before it, and is not tried again at once", async () => {
  const { link } = await newLink();
  const one = openProcess();
  const before = await one.results.show(link);
  now += 16 * minuteMs;
  one.fails = true;
  expect((await one.results.show(link))?.computed_at).toEqual(before!.computed_at);
  now += 2000;
  expect((await one.results.show(link))?.computed_at).toEqual(before!.computed_at);
  expect(one.computed).toBe(2);
  now += sharingLimits.claimMs;
  one.fails = false;
  expect((await one.results.show(link))!.computed_at.getTime()).toBe(now);
});

test("a link's results are bounded: what does not fit is an error", async () => {
  const { link } = await newLink();
  const large = "x".repeat(sharingLimits.resultBytesMax);
  const reader = {
    current: async () => content,
    compute: async () => {
      const board = boardOf(1);
      const [one] = board.insights;
      return {
        ...board,
        insights: [
          { ...one!, results: [large] },
          { ...one!, insight_id: 2 },
        ],
      };
    },
  };
  const results = openSharedResults({ sql, clock, log: silentLog, metrics: openMetrics(), reader });
  const tiles = shownIn(await results.show(link));
  expect(tiles.map(({ error, results: shown }) => [error !== undefined, shown.length])).toEqual([
    [true, 0],
    [false, 1],
  ]);
});

test("a link's results of 8 MB are written, stored and read without a step that is longer than a slice", async () => {
  const { link } = await newLink();
  const lineOf = (i: number) => ({ label: `é🙂\n${i}`, data: Array.from({ length: 1000 }, (_, n) => i + n) });
  const lines = Array.from({ length: 850 }, (_, i) => lineOf(i));
  const insights = [1, 2].map((insight_id) => ({ ...boardOf(1).insights[0]!, insight_id, results: lines }));
  const reader = {
    current: async () => ({
      ...content,
      tiles: [...content.tiles, { insight_id: 2, text: null, layouts: {} }],
    }),
    compute: async () => ({ timezone: "UTC", insights }),
  };
  const open = () => openSharedResults({ sql, clock, log: silentLog, metrics: openMetrics(), reader });
  let longest = 0;
  const [parse, write] = [JSON.parse.bind(JSON), JSON.stringify.bind(JSON)];
  const seen = (text: string) => (longest = Math.max(longest, text?.length ?? 0));
  const spies = [
    spyOn(JSON, "parse").mockImplementation((text, reviver) => (seen(text), parse(text, reviver))),
    spyOn(JSON, "stringify").mockImplementation((value: unknown, ...rest: unknown[]) => {
      const text = write(value, ...(rest as []));
      seen(text);
      return text;
    }),
  ];
  const boards = [];
  // The second process reads what the first one stored.
  for (let i = 0; i < 2; i++) boards.push(await open().show(link));
  for (const spy of spies) spy.mockRestore();
  expect(longest).toBeLessThanOrEqual(limits.replySliceBytes);
  const expected = insights.map((insight) => without(insight));
  for (const board of boards) expect(shownIn(board)).toEqual(expected);
});

test("results that a server of an earlier version stored are not shown, since it writes what strangers must not read", async () => {
  const { link } = await newLink();
  const process = openProcess();
  await process.results.show(link);
  now += minuteMs;
  await sql`
    UPDATE shared_results SET result = ${JSON.stringify(boardOf(7))}, computed_at = ${new Date(now)},
      claimed_until = NULL
    WHERE sharing_id = ${link.id}`;
  expect(await getResult(sql, link.id)).toBeUndefined();
  const other = openProcess();
  for (const { results } of [process, other])
    expect(shownIn(await results.show(link))).toEqual([without(boardOf(2).insights[0]!)]);
  expect([process.computed, other.computed]).toEqual([2, 0]);
});

test("what this version stores is one that an earlier version parses", async () => {
  const { link } = await newLink();
  await openProcess().results.show(link);
  const [row] = await sql`SELECT result FROM shared_results WHERE sharing_id = ${link.id}`;
  expect(JSON.parse(String(row?.["result"]))).toEqual(boardOf(1));
});

test("a token that was sealed with another key opens its link, and is not shown", async () => {
  const { link, token } = await newLink("one key");
  const secrets = openSecrets({ secretKey: "another key", dataDir: makeFolder() });
  const links = openLinkCache(sql, clock, secrets);
  const shown = await presentSharing({ sql, clock, secrets, links }, link);
  expect([shown.enabled, shown.access_token]).toEqual([true, null]);
  expect((await links.find(token))?.id).toBe(link.id);
  const renewed = await presentSharing({ sql, clock, secrets, links }, link, { renew: true });
  expect(renewed.access_token).toMatch(/^[0-9A-Za-z]{43}$/);
  expect((await links.find(token))?.id).toBeUndefined();
});

test("a token from before tokens were sealed is shown once more, and sealed by that", async () => {
  const { link, token } = await newLink();
  await sql`
    UPDATE sharing_configurations SET token_sealed = NULL, token_plain = ${token} WHERE id = ${link.id}`;
  const secrets = openSecrets({ secretKey: "a secret of this test", dataDir: makeFolder() });
  const parts = { sql, clock, secrets, links: openLinkCache(sql, clock, secrets) };
  expect((await presentSharing(parts, link)).access_token).toBe(token);
  const [row] = await sql`SELECT token_plain, token_sealed FROM sharing_configurations WHERE id = ${link.id}`;
  expect([row?.["token_plain"], row?.["token_sealed"] === null]).toEqual([null, false]);
  expect((await presentSharing(parts, link)).access_token).toBe(token);
});

test("tokens requested together are one look-up, and past a bound a 503", async () => {
  let statements = 0;
  const counted = ((...given: Parameters<Postgres>) => {
    if (String(given[0]).includes("token_hash = ANY")) statements++;
    return sql(...given);
  }) as Postgres;
  const links = openLinkCache(counted, clock, openSecrets({ secretKey: "any", dataDir: makeFolder() }));
  const { token, link } = await newLink();
  const asked = Array.from({ length: sharingLimits.lookedUpMax - 1 }, (_, i) => links.find(`guess${i}`));
  const found = links.find(token);
  expect((await found)?.id).toBe(link.id);
  expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]));
  expect(statements).toBeLessThanOrEqual(2);
  const before = statements;
  expect((await links.find(token))?.id).toBe(link.id);
  expect(statements).toBe(before);
  const flood = Array.from({ length: 2 * sharingLimits.lookedUpMax + 10 }, (_, i) =>
    links.find(`flood${i}`).then(
      () => "",
      (thrown: { code: string }) => thrown.code,
    ),
  );
  expect(new Set(await Promise.all(flood))).toEqual(new Set(["", "unavailable"]));
});

test("of the results of many links no more are held than fit in memory, once they were shown", async () => {
  const text = "x".repeat(sharingLimits.memoryBytesMax / 8);
  const reader = {
    current: async () => content,
    compute: async ({ id }: SharedLink) => {
      const board = boardOf(id);
      return { ...board, insights: [{ ...board.insights[0]!, results: [`${id} ${text}`] }] };
    },
  };
  const results = openSharedResults({ sql, clock, log: silentLog, metrics: openMetrics(), reader });
  const links = [];
  for (let i = 0; i < 24; i++) links.push((await newLink()).link);
  const before = heapBytes();
  for (const link of links) await results.show(link);
  // 24 of them are three times as much.
  while (heapBytes() - before > 1.5 * sharingLimits.memoryBytesMax) await Bun.sleep(100);
  const last = await results.show(links.at(-1)!);
  expect(shownIn(last)[0]!.results).toEqual([`${links.at(-1)!.id} ${text}`]);
});

/** Bytes of what is reachable, texts and buffers included. */
function heapBytes(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}
