import { afterAll, expect, test } from "bun:test";
import type { CaptureResult } from "../../src/capture/capture_options.ts";
import { entryLength } from "../../src/capture/fields/event_fields.ts";
import { DiskFullError, DiskReserve } from "../../src/capture/journal/quota.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { capture } from "../../src/capture/pipeline.ts";
import { ArenaPool, ReceivedBody } from "../../src/capture/receive/received_body.ts";
import { yieldToEventLoop } from "../../src/core/clock.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { key, openDesk } from "../support/capture.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp);

test("short bodies that come at once are each kept as they were sent, whether their key is known or not", async () => {
  const desk = openDesk({
    admit: async () => {
      for (let turns = 0; turns < 3; turns++) await yieldToEventLoop();
      return 8;
    },
  });
  const expected: unknown[] = [];
  const bodies = Array.from({ length: 60 }, (_, i) => {
    const odd = i % 5 === 0;
    const batch = Array.from({ length: 1 + (i % 7) }, (_event, n) => {
      const properties = {
        filler: "x".repeat((i * 37) % 300),
        $set: { plan: `plan ${i} ${n}` },
        ...(odd && { $process_person_profile: `odd ${i}` }),
      };
      const distinct_id = `person ${i} ${n}`;
      expected.push([i % 2 === 0 ? 7 : 8, distinct_id, JSON.stringify(properties), [`"plan ${i} ${n}"`]]);
      return { event: "e", distinct_id, properties };
    });
    return { api_key: i % 2 === 0 ? key : "phc_nobody_knew", batch };
  });
  const replies = await Promise.all(bodies.map((body) => desk.send("/batch/", body)));
  expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  expect(await desk.kept()).toMatchObject({ live: expected.length });
  const rows = desk
    .rows()
    .map((row) => [row["project_id"], row["distinct_id"], row["properties"], row["pv"]]);
  const inOrder = (all: unknown[]) => all.map((row) => JSON.stringify(row)).toSorted();
  expect(inOrder(rows)).toEqual(inOrder(expected));
  const odd = bodies.filter((_, i) => i % 5 === 0).reduce((sum, { batch }) => sum + batch.length, 0);
  expect(desk.counts).toMatchObject({ accepted: expected.length, invalid_process_person_profile: odd });
});

test("what is told of a short body's odd events is told of that body, not of the next one", async () => {
  const desk = openDesk();
  const ignored = (id: string) => ({
    api_key: key,
    batch: [
      { event: "", distinct_id: id },
      { event: "e", distinct_id: id },
    ],
  });
  const noted: string[] = [];
  const append = desk.journal.warnings.append.bind(desk.journal.warnings);
  desk.journal.warnings.append = (row) => {
    noted.push(row.distinct_id);
    append(row);
  };
  const ids = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(1 + (i % 9)));
  await Promise.all(ids.map((id) => desk.send("/batch/", ignored(id))));
  expect(noted.toSorted()).toEqual(ids.toSorted());
});

test("a short body out of a long wrapping is read from its own bytes", async () => {
  const desk = openDesk({ bodyBytesMax: 1 << 23 });
  const body = JSON.stringify({
    api_key: key,
    batch: [{ event: "e", distinct_id: "right", properties: { $set: { a: 1 } } }],
  });
  const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "" };
  const wrapped = `data=${encodeURIComponent(body)}&filler=${"x".repeat(3_000_000)}`;
  const headers = { ...form, "content-length": String(wrapped.length) };
  expect((await desk.send("/batch/", wrapped, headers)).status).toBe(200);
  await desk.kept();
  expect(desk.rows()).toMatchObject([{ event: "e", distinct_id: "right", pk: ["a"], pv: ["1"] }]);
});

test("more events than an index holds are kept in parts, each once, when the end of the body is known", async () => {
  const desk = openDesk();
  const count = Math.ceil(limits.indexBytesMax / (entryLength * 4)) + 5000;
  const items = Array.from({ length: count }, (_, i) => `{"event":"e","distinct_id":"${i}"}`);
  // Of two kinds that are none, and told once.
  items.splice(10, 0, "1", '{"event":"e"}');
  const gzip = { "content-encoding": "gzip" };
  const send = (end: string) =>
    desk.send("/batch/", Bun.gzipSync(`{"batch":[${items.join(",")}]${end}`), gzip);
  expect((await send(`,"api_key":"${key}"`)).status).toBe(400);
  expect((await send("}")).status).toBe(401);
  expect(await desk.kept()).toMatchObject({ live: 0 });
  expect((await send(`,"api_key":"${key}"}`)).status).toBe(200);
  expect(await desk.kept()).toMatchObject({ live: count });
  expect(desk.counts).toMatchObject({ accepted: count, malformed_event: 1, missing_distinct_id: 1 });
  const ids = new Set(desk.rows().map((row) => row["distinct_id"]));
  expect(ids.size).toBe(count);
});

const one = { api_key: key, event: "e", distinct_id: "d" };

/** Room on the disk that runs `first` when the first group is written, and has none for that one. */
function roomFailingOnce(first: () => void): DiskReserve {
  const room = new DiskReserve({ folder: "/", log: silentLog });
  let isFirst = true;
  room.acquire = () => {
    if (!isFirst) return;
    isFirst = false;
    first();
    throw new DiskFullError("no room");
  };
  return room;
}

test("another's group that could not be written refuses nobody whose rows are on the disk", async () => {
  let second: Promise<CaptureResult> | undefined;
  const room = roomFailingOnce(() => {
    const body = new ReceivedBody(new ArenaPool(1 << 20), Buffer.from(JSON.stringify(one)));
    second = capture({ body, sent_at: Number.NaN, allowsNameless: false }, desk.options);
  });
  const desk = openDesk({ reserve: room });
  expect((await desk.send("/batch/", { api_key: key, batch: [one] })).status).toBe(503);
  expect(await second).toMatchObject({ accepted: 1 });
  expect(await desk.kept()).toMatchObject({ live: 1 });
  expect(desk.counts).toMatchObject({ accepted: 1, refused: 1 });
});

test("a request is refused when the group that failed held its rows, though a later one was written", async () => {
  const room = roomFailingOnce(() => {});
  const desk = openDesk({ reserve: room, bodyBytesMax: 1 << 23 });
  // Several slices, of which the first is in the group that another request starts.
  const batch = Array.from({ length: 9000 }, () => ({ ...one, properties: { text: "x".repeat(250) } }));
  const append = desk.journal.live.appendMany.bind(desk.journal.live);
  let slices = 0;
  desk.journal.live.appendMany = (...rows) => {
    append(...rows);
    if (++slices === 1) desk.journal.live.commit().catch(() => {});
  };
  expect((await desk.send("/batch/", { api_key: key, batch })).status).toBe(503);
  expect(slices).toBeGreaterThan(1);
  expect(desk.counts).toMatchObject({ accepted: 0, refused: 1 });
});

test("events that outgrow the index of a short body are each kept as they were sent", async () => {
  const desk = openDesk();
  const ids = (body: number) => Array.from({ length: 700 }, (_, i) => body * 1000 + i);
  const engage = (body: number) =>
    `[{"token":"${key}","distinct_id":-1},${ids(body).map((id) => `{"distinct_id":${id}}`)}]`;
  const bodies = Array.from({ length: 9 }, (_, body) => engage(body));
  for (const body of bodies) expect(body.length).toBeLessThan(captureLimits.arenaBodyBytesMin);
  const replies = await Promise.all(bodies.map((body) => desk.send("/engage", body)));
  expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  await desk.kept();
  const kept = desk.rows().map((row) => Number(row["distinct_id"]));
  const sent = bodies.flatMap((_, body) => [-1, ...ids(body)]);
  expect(kept.toSorted((a, b) => a - b)).toEqual(sent.toSorted((a, b) => a - b));
});
