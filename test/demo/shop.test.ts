import { expect, test } from "bun:test";
import { Shop, shopDays } from "../../src/demo/shop.ts";

const now = Date.UTC(2026, 4, 20, 15, 30);
const dayMs = 86_400_000;

test("the shop of one moment is the same each time, and of another day another", () => {
  const [once, again, later] = [now, now, now + dayMs].map((at) => [...new Shop(at).events()]);
  expect(again).toEqual(once!);
  expect(later![0]!.uuid).not.toBe(once![0]!.uuid);
});

test("its events come in the order of their times within a day, of ninety days, none after the moment, each once", () => {
  const events = [...new Shop(now).events()];
  const times = events.map(({ timestamp }) => Date.parse(timestamp));
  expect(Math.max(...times)).toBeLessThanOrEqual(now);
  expect(Math.floor(Math.min(...times) / dayMs)).toBe(Math.floor(now / dayMs) - shopDays);
  expect(new Set(times.map((time) => Math.floor(time / dayMs))).size).toBe(shopDays + 1);
  expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(events.length);
  const begun = new Map<unknown, number>();
  for (const { timestamp, properties } of events) {
    const session = properties["$session_id"];
    const first = begun.get(session) ?? Date.parse(timestamp);
    begun.set(session, first);
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(first);
  }
});

test("who pays has signed up, and a visit of yesterday is chosen to be recorded", () => {
  const shop = new Shop(now);
  const customers = new Set<string>();
  for (const { event, distinct_id } of shop.events()) {
    if (event === "$identify") customers.add(distinct_id);
    if (event === "order paid") expect(customers).toContain(distinct_id);
  }
  expect(customers.size).toBeGreaterThan(300);
  expect(Math.floor(shop.recorded!.begun / dayMs)).toBe(Math.floor(now / dayMs) - 1);
});
