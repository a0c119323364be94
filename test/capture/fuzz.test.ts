import { afterAll, expect, test } from "bun:test";
import { fuzz } from "../../bench/fuzz.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp);

test("3,000 mutated bodies: no 5xx, nothing hangs, no event lost or invented", async () => {
  const { bodies, answered, received, accepted, ignored, kept } = await fuzz({ bodies: 3000 });
  expect(bodies).toBe(3000);
  expect(Object.values(answered).reduce((sum, count) => sum + count, 0)).toBe(3000);
  expect(Object.keys(answered).filter((status) => !["200", "400", "401", "413"].includes(status))).toEqual(
    [],
  );
  expect(answered["200"]).toBeGreaterThan(500);
  expect(received).toBe(accepted + ignored);
  expect(kept).toBe(accepted);
});
