// How long a destination asks to wait.

import { expect, test } from "bun:test";
import { retryAfterMs } from "../../../src/batch_exports/destinations/post.ts";

const now = Date.UTC(2026, 0, 1);
const asked = (value?: string) => retryAfterMs({ status: 503, text: "", header: () => value }, now);

test("Retry-After is seconds or a date; without one that is to come the pause is ours", () => {
  expect(asked("7")).toBe(7000);
  expect(asked("0")).toBe(0);
  expect(asked("Thu, 01 Jan 2026 00:00:20 GMT")).toBe(20_000);
  for (const value of [undefined, "", "-5", "Wed, 31 Dec 2025 23:59:59 GMT", "soon", "1e9", "0x10"]) {
    expect([value, asked(value)]).toEqual([value, undefined]);
  }
});
