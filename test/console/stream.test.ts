import { expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { systemClock } from "../../src/core/clock.ts";
import { figuresOf } from "../../src/console/figures.ts";
import { consoleLimits } from "../../src/console/limits.ts";
import type { Followed, NewEvent } from "../../src/console/store.ts";
import { openStreams, type StreamOptions } from "../../src/console/stream.ts";
import { cleanUpEach, later } from "../support/cleanup.ts";

cleanUpEach();

const project: Followed = { project_id: 1, event: undefined, distinct_id: undefined };

function event(uuid: string, created_at: string): NewEvent {
  const rest = { event: "seen", distinct_id: "me", properties: "{}", properties_bytes: 2 };
  return { uuid, ...rest, timestamp: created_at, created_at };
}

/** Streams on a clock that stands still unless another is given: the store is asked once for each question. */
function opened(options: Partial<StreamOptions> = {}) {
  const asked: { followed: Followed; since: string }[] = [];
  const streams = openStreams({
    figures: async () => figuresOf([], { at: 1, behind_ms: 0 }),
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
  const reply = streams.open(project, true, new AbortController().signal);
  expect(reply.headers.get("content-type")).toBe("text/event-stream");
  const text = await messagesOf(reply, (so) => so.includes("event: events"));
  expect(text).toStartWith("event: open\n");
  expect(text).toContain('event: figures\ndata: {"at":1,');
  expect(text).toContain('"uuid":"a"');
});

test("a page without the right to figures gets events only", async () => {
  const { streams } = opened();
  const reply = streams.open(project, false, new AbortController().signal);
  const text = await messagesOf(reply, (so) => so.includes("event: events"));
  expect(text).not.toContain("event: figures");
});

test("an event that becomes readable late is told, and none is told twice", async () => {
  const answers = [
    [event("b", "2026-01-01 00:00:02.000000")],
    [event("b", "2026-01-01 00:00:02.000000"), event("a", "2026-01-01 00:00:01.000000")],
    [event("c", "2026-01-01 00:00:03.000000"), event("b", "2026-01-01 00:00:02.000000")],
  ];
  let elapsed = 1_000_000;
  const clock = { now: systemClock.now, elapsed: () => (elapsed += consoleLimits.newestMs) };
  const { streams } = opened({ clock, newest: async () => answers.shift() ?? [] });
  const reply = streams.open(project, false, new AbortController().signal);
  const text = await messagesOf(reply, (so) => so.includes('"uuid":"c"'));
  expect([...text.matchAll(/"uuid":"(\w)"/g)].map(([, uuid]) => uuid)).toEqual(["b", "a", "c"]);
});

test("a page that comes later is told what the others know", async () => {
  const known = event("a", "2026-01-01 00:00:01.000000");
  let elapsed = 1_000_000;
  const clock = { now: systemClock.now, elapsed: () => (elapsed += consoleLimits.newestMs) };
  const { streams } = opened({ clock, newest: async () => [known] });
  const first = streams.open(project, false, new AbortController().signal);
  await messagesOf(first, (so) => so.includes('"uuid":"a"'));
  const later = streams.open(project, false, new AbortController().signal);
  expect(await messagesOf(later, (so) => so.includes('"uuid":"a"'))).toContain("event: events");
});

test("pages that ask alike are one question to the store", async () => {
  const { streams, asked } = opened();
  const replies = Array.from({ length: 20 }, () =>
    streams.open({ ...project }, true, new AbortController().signal),
  );
  const texts = await Promise.all(
    replies.map((reply) => messagesOf(reply, (so) => so.includes("event: events"))),
  );
  expect(texts).toHaveLength(20);
  expect(asked).toHaveLength(1);
});

test("there are so many streams and no more, and one that ends makes room", async () => {
  const { streams } = opened();
  const gone = new AbortController();
  streams.open(project, true, gone.signal);
  for (let n = 1; n < consoleLimits.streamsMax; n++)
    streams.open(project, true, new AbortController().signal);
  const one = () => streams.open(project, true, new AbortController().signal);
  expect(one).toThrow("Too many pages follow this server.");
  gone.abort();
  expect(one().status).toBe(200);
});

test("closing ends every stream and opens no other", async () => {
  const { streams } = opened();
  const reply = streams.open(project, true, new AbortController().signal);
  await streams.close();
  expect(() => streams.open(project, true, new AbortController().signal)).toThrow("This server is stopping.");
  expect(await reply.text()).toBe('event: open\ndata: {"figures":true}\n\n');
});

test("a page that does not read is sent no more than it may leave unread", async () => {
  const long = "x".repeat(consoleLimits.unreadBytesMax);
  const figures = async () => ({ ...figuresOf([], { at: 1, behind_ms: 0 }), refused: { [long]: 1 } });
  const { streams, asked } = opened({ figures, clock: systemClock });
  const slow = streams.open(project, true, new AbortController().signal);
  const quick = streams.open(project, true, new AbortController().signal);
  await messagesOf(quick, () => asked.length > 1);
  await streams.close();
  const left = await slow.text();
  expect(left.split("event: figures")).toHaveLength(2);
});
