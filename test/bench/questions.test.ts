import { afterAll, expect, test } from "bun:test";
import { questions } from "../../bench/run.ts";
import { beginOn } from "../../bench/stand.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeStoresFolder } from "../support/made_stores.ts";

afterAll(cleanUp);
beginOn(makeStoresFolder);

// Whether each question can still be asked and still checks what it got; its figures mean nothing at this size.
const scale = { rounds: 1, bytes: 60_000, warm: false };

// The others send other bodies the same way, and take many seconds on a busy machine.
const asked = [
  "scan",
  "block",
  "journal",
  "insert",
  "visits",
  "import",
  "passes",
  "capture",
  "projects",
  "gzip",
  "memory",
  "trends",
  "year",
];

for (const name of asked) {
  const question = questions[name]!;
  test(`${name} is asked and answered`, async () => {
    const { figures, ratios } = await question(scale);
    expect(figures.length).toBeGreaterThan(0);
    for (const row of figures) {
      const numbers = Object.values(row).filter((value) => typeof value === "number");
      expect(numbers.length).toBeGreaterThan(0);
      expect(numbers.filter(Number.isNaN)).toEqual([]);
    }
    for (const { goal, stretch, above } of ratios) {
      if (goal !== undefined && stretch !== undefined)
        expect(above === true ? stretch > goal : stretch < goal).toBe(true);
    }
  });
}
