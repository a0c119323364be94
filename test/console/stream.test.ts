import { expect, test } from "bun:test";
import { computeFigures } from "../../src/console/figures.ts";
import { consoleLimits } from "../../src/console/limits.ts";
import type { Followed, NewEvent } from "../../src/console/store.ts";
import { type Follower, openStreams, type StreamOptions } from "../../src/console/stream.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";

cleanUpEach();

const project: Followed = { project_id: 1, event: undefined, distinct_id: undefined };

let keys = 0;

/** Whoever has a key of their own, unless another is given. */
function follower(given: Partial<Follower> = {}): Follower {
  return { key_id: `key ${++keys}`, showsFigures: true, isAllowed: async () => true, ...given };
}

function event(uuid: string, created_at: string): NewEvent {
  const rest = { event: "seen", distinct_id: "me", properties: "{}", properties_bytes: 2 };
  return { uuid, ...rest, timestamp: created_at, created_at };
}

/** Streams on a clock that stands still unless another is given: the store is asked once for each question. */
function opened(options: Partial<StreamOptions> = {}) {
  const asked: { followed: Followed; since: string }[] = [];
  const streams = openStreams({
    figures: async () => computeFigures([], 1, 0),
    newest: async (followed, since) => {
      asked.push({ followed, since });
      return asked.length === 1 ? [event("a", "2026-01-01 00:00:00.000001")] : [];
    },
    clock: { now: systemClock.now, elapsed: () => 1_000_000 },
    log: silentLog,
    ...options,
  });
  later(() => streams.close());
  return { streams, asked };
}

/** Messages until `enough` of them are there. */
async function messagesOf(reply: Response, enough: (text: string) => boolean): Promise<string> {
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!enough(text)) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader.cancel();
  return text;
}

test("a page gets figures and the newest events", async () => {
  const { streams } = opened();
  const reply = streams.open(project, follower(), new AbortController().signal);
  expect(reply.headers.get("content-type")).toBe("text/event-stream");
  const text = await messagesOf(reply, (so) => so.includes("event: events"));
  expect(text).toStartWith("event: open\n");
  expect(text).toContain('event: figures\ndata: {"at":1,');
  expect(text).toContain('"uuid":"a"');
});

test("a page without the right to figures gets events only", async () => {
  const { streams } = opened();
  const reply = streams.open(project, follower({ showsFigures: false }), new AbortController().signal);
  const text = await messagesOf(reply, (so) => so.includes("event: events"));
  expect(text).not.toContain("event: figures");
});

test("an event that becomes readable late is sent, and none is sent twice", async () => {
  const answers = [
    [event("b", "2026-01-01 00:00:02.000000")],
    [event("b", "2026-01-01 00:00:02.000000"), event("a", "2026-01-01 00:00:01.000000")],
    [event("c", "2026-01-01 00:00:03.000000"), event("b", "2026-01-01 00:00:02.000000")],
  ];
  let elapsed = 1_000_000;
  const clock = { now: systemClock.now, elapsed: () => (elapsed += consoleLimits.newestMs) };
  const { streams } = opened({ clock, newest: async () => answers.shift() ?? [] });
  const reply = streams.open(project, follower({ showsFigures: false }), new AbortController().signal);
  const text = await messagesOf(reply, (so) => so.includes('"uuid":"c"'));
  expect([...text.matchAll(/"uuid":"(\w)"/g)].map(([, uuid]) => uuid)).toEqual(["b", "a", "c"]);
});

test("a page that opens later gets what the others have", async () => {
  const known = event("a", "2026-01-01 00:00:01.000000");
  let elapsed = 1_000_000;
  const clock = { now: systemClock.now, elapsed: () => (elapsed += consoleLimits.newestMs) };
  const { streams } = opened({ clock, newest: async () => [known] });
  const first = streams.open(project, follower({ showsFigures: false }), new AbortController().signal);
  await messagesOf(first, (so) => so.includes('"uuid":"a"'));
  const later = streams.open(project, follower({ showsFigures: false }), new AbortController().signal);
  expect(await messagesOf(later, (so) => so.includes('"uuid":"a"'))).toContain("event: events");
});

test("pages with the same filter are one query of the store", async () => {
  const { streams, asked } = opened();
  const replies = Array.from({ length: 20 }, () =>
    streams.open({ ...project }, follower(), new AbortController().signal),
  );
  const texts = await Promise.all(
    replies.map((reply) => messagesOf(reply, (so) => so.includes("event: events"))),
  );
  expect(texts).toHaveLength(20);
  expect(asked).toHaveLength(1);
});

test("one project has half of the streams, the next half of the rest, and one that ends makes room", async () => {
  const { streams } = opened();
  const open = (project_id: number, gone = new AbortController()) =>
    streams.open({ ...project, project_id }, follower(), gone.signal);
  const gone = new AbortController();
  open(1, gone);
  for (let n = 1; n < consoleLimits.streamsMax / 2; n++) open(1);
  expect(() => open(1)).toThrow("Too many pages follow this server or this project.");
  for (let n = 0; n < consoleLimits.streamsMax / 4; n++) open(2);
  expect(() => open(2)).toThrow("Too many pages follow this server or this project.");
  expect(open(3).status).toBe(200);
  gone.abort();
  expect(open(3).status).toBe(200);
});

test("one key has so many streams and no more, and shuts out no other", async () => {
  const { streams } = opened();
  const open = (key_id: string) => streams.open(project, follower({ key_id }), new AbortController().signal);
  for (let n = 0; n < consoleLimits.keyStreamsMax; n++) open("mine");
  expect(() => open("mine")).toThrow("Too many pages follow with this key.");
  expect(open("yours").status).toBe(200);
});

test("a stream ends when its key is no longer allowed, also while a store keeps the figures waiting", async () => {
  let allowed = true;
  const waiting = Promise.withResolvers<never>();
  const { streams } = opened({ figures: () => waiting.promise });
  const reply = streams.open(
    project,
    follower({ isAllowed: async () => allowed }),
    new AbortController().signal,
  );
  const other = streams.open(project, follower(), new AbortController().signal);
  allowed = false;
  expect(await reply.text()).toBe('event: open\ndata: {"figures":true}\n\n');
  expect(other.bodyUsed).toBe(false);
  waiting.reject(new Error("the store is unavailable"));
});

test("a stream continues while it is not known whether its key is allowed", async () => {
  let asked = 0;
  const isAllowed = async () => {
    if (++asked < 3) throw new Error("Postgres is unavailable");
    return false;
  };
  const { streams } = opened();
  const reply = streams.open(project, follower({ isAllowed }), new AbortController().signal);
  await reply.text();
  expect(asked).toBe(3);
});

test("closing ends every stream and opens no other", async () => {
  const { streams } = opened();
  const reply = streams.open(project, follower(), new AbortController().signal);
  await streams.close();
  expect(() => streams.open(project, follower(), new AbortController().signal)).toThrow(
    "This server is stopping.",
  );
  expect(await reply.text()).toBe('event: open\ndata: {"figures":true}\n\n');
});

test("a page that does not read is sent no more than it may leave unread", async () => {
  const long = "x".repeat(consoleLimits.unreadBytesMax);
  const figures = async () => ({ ...computeFigures([], 1, 0), refused: { [long]: 1 } });
  const { streams, asked } = opened({ figures, clock: systemClock });
  const slow = streams.open(project, follower(), new AbortController().signal);
  const quick = streams.open(project, follower(), new AbortController().signal);
  await messagesOf(quick, () => asked.length > 1);
  await streams.close();
  const left = await slow.text();
  expect(left.split("event: figures")).toHaveLength(2);
});
