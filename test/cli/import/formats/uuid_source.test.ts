import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { OccurrenceCounter, UuidSource } from "../../../../src/cli/import/formats/uuid_source.ts";
import { isUuid } from "../../../../src/core/id.ts";

function uuidsOf(lines: string[]): string[] {
  const identity = new UuidSource();
  return lines.map((line) => {
    const bytes = Buffer.from(line);
    return identity.ofRecord(bytes, 0, bytes.length);
  });
}

describe("a record's uuid", () => {
  test("is a UUIDv5 that never changes between versions", () => {
    const namespace = "5b1f7d0e-3c0a-5d4f-9a6c-8e2b7f41d905";
    const first = "3cec0747-7102-547a-8ad5-cb8cab210a9d";
    const second = "3cd8abd7-158b-5935-aa49-3a839ea6d143";
    expect(uuidsOf(["{}", "{}"])).toEqual([first, second]);
    expect(Bun.randomUUIDv5("{}", namespace)).toBe(first);
    expect(Bun.randomUUIDv5(`${first} 1`, namespace)).toBe(second);
  });

  test("is the same in every run, and another one for every record of a run", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c", "dd", "e".repeat(100_000))), (lines) => {
        const uuids = uuidsOf(lines);
        expect(uuidsOf(lines)).toEqual(uuids);
        expect(new Set(uuids).size).toBe(lines.length);
        expect(uuids.every(isUuid)).toBe(true);
      }),
    );
  });
});

describe("OccurrenceCounter", () => {
  test("counts as a map does", () => {
    const hashes = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 4 })), { maxLength: 3000 });
    fc.assert(
      fc.property(hashes, (pairs) => {
        const seen = new OccurrenceCounter(10_000);
        const counts = new Map<string, number>();
        for (const [high, low] of pairs) {
          const count = counts.get(`${high} ${low}`) ?? 0;
          counts.set(`${high} ${low}`, count + 1);
          expect(seen.add(high * 0x9e3779b1, low)).toBe(count);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("counts a line that fills a file in no more than logarithmic steps", () => {
    const seen = new OccurrenceCounter(200_000);
    let last = 0;
    for (let n = 0; n < 200_000; n++) last = seen.add(7, 7);
    expect(last).toBe(199_999);
  });

  test("says so when it is full", () => {
    const seen = new OccurrenceCounter(2);
    seen.add(1, 1);
    seen.add(2, 2);
    expect(() => seen.add(3, 3)).toThrow("more than 2 records without a uuid in one import");
  });
});
