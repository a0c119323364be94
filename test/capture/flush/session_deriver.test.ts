// When sessions are derived: at once while nothing waits, behind an import otherwise, and never later than its bounds.

import { afterEach, expect, test } from "bun:test";
import { historicalLane, liveLane } from "../../../src/capture/columns/block.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { SessionDeriver } from "../../../src/capture/flush/session_deriver.ts";
import type { Segment } from "../../../src/capture/journal/segments/segment.ts";
import { recordingLane } from "../../../src/capture/recordings/snapshot_block.ts";
import { silentLog } from "../../../src/core/log.ts";
import { type ClickHouse, ClickHouseError } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { noDefinitions } from "../../support/definitions.ts";
import { until } from "../../support/server.ts";

afterEach(cleanUp);

function segmentOf(id: number, bytes = 1000, numbers: bigint[] = [BigInt(id)]): Segment {
  return {
    id: BigInt(id),
    lane: liveLane,
    path: `${id}`,
    bytes,
    rows: 10,
    oldest: 0,
    batches: numbers.map((number) => ({ id: number, partition: 2026, rows: 5, bytes: 10, frames: [] })),
    isRecovered: false,
  };
}

interface Asked {
  batches: bigint[];
  parts: number;
  part: number;
}

/** A deriver whose journal, engine and clock do what the test says. */
function openDeriver({ hasBacklog = true } = {}) {
  const stopping = new AbortController();
  const did: string[] = [];
  const world = {
    isBusy: false,
    isTight: false,
    now: 0,
    failures: 0,
    /** What deriving from blocks fails with, one after the other. */
    refusals: [] as Error[],
    /** What sending the first columns of a segment's blocks fails with, one after the other. */
    dayRefusals: [] as Error[],
    /** The segments whose first columns were sent, by INSERT. */
    dated: [] as bigint[][],
    hangs: false,
    refuses: (_batches: bigint[], _parts: number, _part: number) => false,
    /** What deriving from stored rows fails with each time. */
    failsWith: undefined as Error | undefined,
    /** What writing the names of events fails with. */
    namesFailWith: undefined as Error | undefined,
    backlog: [] as bigint[],
  };
  const backlog = {
    add: async (batches: readonly bigint[]) => {
      did.push(`wait ${batches.join(" ")}`);
      world.backlog.push(...batches);
    },
    read: async () => ({ oldest: world.backlog.slice(0, 2), count: world.backlog.length }),
    remove: async (batches: readonly bigint[]) => {
      did.push(`remove ${batches.join(" ")}`);
      world.backlog = world.backlog.filter((one) => !batches.includes(one));
    },
  };
  const logged: string[] = [];
  const journal = {
    get isBusy() {
      return world.isBusy;
    },
    get isTight() {
      return world.isTight;
    },
    retain: ({ id }: Segment) => void did.push(`hold ${id}`),
    finish: async ({ id }: Segment) => void did.push(`finish ${id}`),
  };
  const clickhouse = {
    command: async (text: string, { batches, parts, part }: Asked, { abort }: { abort: AbortSignal }) => {
      // The days of the events are derived right behind their sessions.
      if (text.includes("INTO event_days")) return;
      did.push(`derive ${batches.join(" ")}${parts > 1 ? ` ${part}/${parts}` : ""}`);
      if (world.hangs) await new Promise((_, reject) => abort.addEventListener("abort", reject));
      if (world.failsWith) throw world.failsWith;
      if (world.failures-- > 0) throw new Error("too much at once");
      if (world.refuses(batches, parts, part)) throw new ClickHouseError("odd", "27", "CANNOT_PARSE_TEXT");
    },
  } as unknown as ClickHouse;
  const sender = {
    send: async ({ batches }: Segment) => {
      did.push(`send ${batches.map(({ id }) => id).join(" ")}`);
      if (world.hangs) await new Promise((_, reject) => stopping.signal.addEventListener("abort", reject));
      const refusal = world.refusals.shift();
      if (refusal) throw refusal;
    },
    releaseIdle: () => {},
    abandon: async () => void did.push("abandon"),
  };
  const days = {
    sendFirstColumns: async (segments: readonly Segment[], last: string) => {
      expect(last).toBe("timestamp");
      world.dated.push(segments.map(({ id }) => id));
      const refusal = world.dayRefusals.shift();
      if (refusal) throw refusal;
    },
    releaseIdle: () => {},
    abandon: async () => {},
  };
  const clock = { now: () => world.now, elapsed: () => world.now };
  const deriver = new SessionDeriver({
    journal,
    clickhouse,
    sender,
    days,
    definitions: {
      ...noDefinitions,
      settle: async () => {
        if (world.namesFailWith) throw world.namesFailWith;
      },
    },
    backlog: hasBacklog ? backlog : undefined,
    stopping: stopping.signal,
    clock,
    log: { ...silentLog, error: (_text, about) => void logged.push(JSON.stringify(about)) },
  });
  const running = deriver.run();
  later(async () => {
    stopping.abort();
    deriver.drain();
    await running;
  });
  const done = async (count: number) => {
    await until(async () => did.length >= count);
    return did;
  };
  return { deriver, world, running, done, did, logged, stopping };
}

const refused = new ClickHouseError("odd", "27", "CANNOT_PARSE_TEXT");
const isAway = new ClickHouseError("away", "ECONNREFUSED", "NETWORK");
const isTooMuch = new ClickHouseError("Query memory limit exceeded", "241", "MEMORY_LIMIT_EXCEEDED");
const isFull = new ClickHouseError("(total) memory limit exceeded", "241", "MEMORY_LIMIT_EXCEEDED");

test("sessions of a stored segment are derived at once while nothing waits, and then its file goes", async () => {
  const { deriver, done } = openDeriver();
  deriver.add(segmentOf(1, 1000, [11n, 12n]), [11n, 12n]);
  expect(await done(3)).toEqual(["hold 1", "send 11 12", "finish 1"]);
});

test("while others wait to be stored, sessions wait as long as the bounds allow", async () => {
  const { deriver, world, did, done } = openDeriver();
  world.isBusy = true;
  deriver.add(segmentOf(1), [1n]);
  deriver.add(segmentOf(2), [2n]);
  await Bun.sleep(250);
  expect(did).toEqual(["hold 1", "hold 2"]);
  world.now = flushLimits.sessionsLateMs;
  expect((await done(6)).slice(2)).toEqual(["send 1", "send 2", "finish 1", "finish 2"]);
});

test("what waited during a step is derived right behind it, and what came later in the next one", async () => {
  const { deriver, world, did, done } = openDeriver();
  world.isBusy = true;
  for (const id of [1, 2, 3]) deriver.add(segmentOf(id), [BigInt(id)]);
  world.isBusy = false;
  expect((await done(9)).slice(3)).toEqual([
    "send 1",
    "send 2",
    "send 3",
    "finish 1",
    "finish 2",
    "finish 3",
  ]);
  world.now = flushLimits.sessionsEveryMs - 1;
  deriver.add(segmentOf(4), [4n]);
  await Bun.sleep(250);
  expect(did.slice(9)).toEqual(["hold 4"]);
  world.now = flushLimits.sessionsEveryMs;
  expect((await done(12)).slice(10)).toEqual(["send 4", "finish 4"]);
});

test("more bytes than may wait are derived whatever else waits, a segment at a time", async () => {
  const { deriver, world, done } = openDeriver();
  world.isBusy = true;
  const bytes = flushLimits.sessionsWaitingBytesMax / 4;
  for (const id of [1, 2, 3, 4]) deriver.add(segmentOf(id, bytes), [BigInt(id)]);
  expect((await done(6)).slice(4)).toEqual(["send 1", "finish 1"]);
});

test("a nearly full disk lets nothing wait", async () => {
  const { deriver, world, done } = openDeriver();
  world.isBusy = true;
  world.isTight = true;
  deriver.add(segmentOf(1), [1n]);
  expect(await done(3)).toEqual(["hold 1", "send 1", "finish 1"]);
});

test("an engine that is away gets the blocks again, however often, and no file goes before", async () => {
  const { deriver, world, done } = openDeriver();
  world.refusals = Array.from({ length: 4 }, () => isAway);
  deriver.add(segmentOf(1), [1n]);
  expect(await done(7)).toEqual(["hold 1", ...Array.from({ length: 5 }, () => "send 1"), "finish 1"]);
});

test("blocks that the engine refuses, or that are too much for it at once, are read back", async () => {
  for (const [refusals, sends] of [
    [[refused], 1],
    [[new Error("EIO")], 1],
    [[isFull, isTooMuch], 2],
  ] as const) {
    const { deriver, world, done } = openDeriver();
    world.refusals = [...refusals];
    deriver.add(segmentOf(1), [1n]);
    const sent = Array.from({ length: sends }, () => "send 1");
    expect(await done(sends + 3)).toEqual(["hold 1", ...sent, "derive 1", "finish 1"]);
  }
});

test("first columns whose days are not derived are sent again, or the rows are read back", async () => {
  const { deriver, world, done } = openDeriver();
  world.dayRefusals = [isAway, refused];
  deriver.add(segmentOf(1), [1n]);
  expect(await done(4)).toEqual(["hold 1", "send 1", "derive 1", "finish 1"]);
  expect(world.dated).toEqual([[1n], [1n]]);
});

test("days of many segments are derived at once, and none of their files goes before", async () => {
  const { deriver, world, did, running } = openDeriver();
  world.isBusy = true;
  const most = flushLimits.daysSegmentsMax;
  const ids = Array.from({ length: most + 3 }, (_, i) => i + 1);
  for (const id of ids) deriver.add(segmentOf(id), [BigInt(id)]);
  deriver.drain();
  await running;
  expect(world.dated.map(({ length }) => length)).toEqual([most, 3]);
  expect(did.indexOf("finish 1")).toBe(did.indexOf(`send ${most}`) + 1);
  expect(did.filter((one) => one.startsWith("finish"))).toEqual(ids.map((id) => `finish ${id}`));
});

test("segments whose days the engine refuses for good wait in the backlog, all of them", async () => {
  const { deriver, world, done } = openDeriver();
  world.dayRefusals = Array.from({ length: flushLimits.sessionTriesMax }, () => isForbidden);
  world.failsWith = isForbidden;
  world.isBusy = true;
  deriver.add(segmentOf(1), [1n]);
  deriver.add(segmentOf(2), [2n]);
  world.isBusy = false;
  const did = await done(9);
  expect(did.slice(-3)).toEqual(["wait 1 2", "finish 1", "finish 2"]);
});

test("of a segment that was taken apart, what is stored is read back", async () => {
  const { deriver, done } = openDeriver();
  deriver.add(segmentOf(1, 1000, [11n]), [91n, 92n]);
  expect(await done(3)).toEqual(["hold 1", "derive 91 92", "finish 1"]);
});

test("a read-back that the engine does not take is tried again in halves, and no file goes before", async () => {
  const { deriver, world, done } = openDeriver();
  world.failures = 1;
  deriver.add(segmentOf(1), [11n, 12n, 13n, 14n]);
  expect(await done(5)).toEqual(["hold 1", "derive 11 12 13 14", "derive 11 12", "derive 13 14", "finish 1"]);
});

test("a batch that is too much for the engine is derived in parts", async () => {
  const { deriver, world, done } = openDeriver();
  world.failures = 2;
  deriver.add(segmentOf(1), [11n, 12n]);
  const parts = ["derive 11 12", "derive 11", "derive 11 0/2", "derive 11 1/2", "derive 12"];
  expect(await done(7)).toEqual(["hold 1", ...parts, "finish 1"]);
});

test("an event that the engine refuses is left out and told of, and holds up no other", async () => {
  const { deriver, world, running, did, logged } = openDeriver();
  world.refuses = ([batch], parts, part) => batch === 11n && 5 % parts === part;
  world.refusals = [refused];
  deriver.add(segmentOf(1, 1000, [11n, 12n]), [11n, 12n]);
  deriver.add(segmentOf(2), [2n]);
  deriver.drain();
  await running;
  expect(did.slice(-4)).toEqual(["finish 1", "send 2", "finish 2", "abandon"]);
  expect(did).toContain("derive 12");
  expect(logged).toEqual(['{"batch":"000000000000000b","row":5,"reason":"odd"}']);
});

test("events of a lane wait to be stored while too much waits to be derived, imports first", async () => {
  const { deriver, world, done } = openDeriver();
  world.isBusy = true;
  const { historical, live } = flushLimits.sessionsBehindBytesMax;
  const behind = () => [liveLane, historicalLane, recordingLane].map((lane) => deriver.isBehind(lane));
  deriver.add(segmentOf(1, historical), [1n]);
  expect(behind()).toEqual([false, true, false]);
  deriver.add(segmentOf(2, live - historical), [2n]);
  expect(behind()).toEqual([true, true, false]);
  world.isBusy = false;
  world.now = flushLimits.sessionsLateMs;
  await done(6);
  expect(behind()).toEqual([false, false, false]);
});

test("a server that ends derives what waits", async () => {
  const { deriver, world, did, running } = openDeriver();
  world.isBusy = true;
  deriver.add(segmentOf(1), [1n]);
  deriver.drain();
  await running;
  expect(did).toEqual(["hold 1", "send 1", "finish 1", "abandon"]);
});

test("a server that has no time left waits for no step, and keeps the file of what was not derived", async () => {
  const { deriver, world, done, did, running, stopping } = openDeriver();
  world.hangs = true;
  deriver.add(segmentOf(1), [1n]);
  await done(2);
  stopping.abort();
  await running;
  expect(did).toEqual(["hold 1", "send 1", "abandon"]);
});

const isForbidden = new ClickHouseError("not enough privileges", "497", "ACCESS_DENIED");

test("what the engine refuses each time waits in the backlog, its file goes, and what comes behind is tried once", async () => {
  const { deriver, world, done, logged } = openDeriver();
  world.refusals = Array.from({ length: 6 }, () => isForbidden);
  world.failsWith = isForbidden;
  deriver.add(segmentOf(1), [1n]);
  const did = await done(8);
  const sent = Array.from({ length: flushLimits.sessionTriesMax }, () => "send 1");
  expect(did.slice(0, sent.length + 2)).toEqual(["hold 1", ...sent, "derive 1"]);
  await until(async () => did.includes("finish 1"));
  expect(did.slice(-2)).toEqual(["wait 1", "finish 1"]);
  const before = did.length;
  deriver.add(segmentOf(2), [2n]);
  world.now += flushLimits.sessionsEveryMs;
  await until(async () => did.includes("finish 2"));
  expect(did.slice(before).filter((one) => one === "send 2")).toHaveLength(1);
  expect(deriver.backlogCount).toBe(2);
  expect(logged).toHaveLength(1);
});

test("the backlog is derived when the engine takes it again, the oldest first", async () => {
  const { deriver, world, did } = openDeriver();
  world.backlog = [1n, 2n, 3n];
  world.failsWith = isForbidden;
  world.now = flushLimits.backlogAgainMs;
  deriver.add(segmentOf(9), [9n]);
  await until(async () => did.some((one) => one.startsWith("derive 1")));
  world.failsWith = undefined;
  world.now += flushLimits.backlogAgainMs;
  deriver.add(segmentOf(10), [10n]);
  await until(async () => world.backlog.length === 0);
  expect(did.filter((one) => one.startsWith("remove"))).toEqual(["remove 1 2", "remove 3"]);
  await until(async () => deriver.backlogCount === 0);
});

test("a backlog that is refused again leaves a new segment all its tries", async () => {
  const { deriver, world, did } = openDeriver();
  world.backlog = [1n];
  world.failsWith = isForbidden;
  world.now = flushLimits.backlogAgainMs;
  deriver.add(segmentOf(9), [9n]);
  await until(async () => did.includes("derive 1"));
  world.refusals = Array.from({ length: 3 }, () => isForbidden);
  const before = did.length;
  deriver.add(segmentOf(10), [10n]);
  world.now += flushLimits.sessionsEveryMs;
  await until(async () => did.includes("finish 10"));
  expect(did.slice(before).filter((one) => one === "send 10")).toHaveLength(4);
});

test("without a backlog, sessions are tried until they can be derived", async () => {
  const { deriver, world, done } = openDeriver({ hasBacklog: false });
  world.refusals = Array.from({ length: 7 }, () => isForbidden);
  deriver.add(segmentOf(1), [1n]);
  expect((await done(10)).slice(-2)).toEqual(["send 1", "finish 1"]);
});

test("names of events that the engine refuses wait in the backlog, too, and hold up no segment", async () => {
  const { deriver, world, did } = openDeriver();
  world.namesFailWith = isForbidden;
  deriver.add(segmentOf(1), [1n]);
  await until(async () => did.includes("finish 1"));
  expect(did).toEqual(["hold 1", "wait 1", "finish 1"]);
  world.namesFailWith = undefined;
  world.now += flushLimits.backlogAgainMs;
  deriver.add(segmentOf(2), [2n]);
  await until(async () => world.backlog.length === 0);
  expect(did).toContain("derive 1");
});
