import { expect, test } from "bun:test";
import { eventBytesOf, eventTexts } from "../../bench/events.ts";

test("events of each kind are as long as documented, and each has a session and a uuid of its own", () => {
  for (const site of [undefined, "server", "short", "web", "mix"] as const) {
    const texts = eventTexts({ count: 2000, site });
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0) / texts.length;
    expect(Math.abs(bytes / eventBytesOf({ site }) - 1)).toBeLessThan(0.02);
    const events = texts.map(
      (text) => JSON.parse(text) as { uuid: string; properties: { $session_id: string } },
    );
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(texts.length);
    expect(new Set(events.map(({ properties }) => properties.$session_id)).size).toBe(1000);
  }
});
