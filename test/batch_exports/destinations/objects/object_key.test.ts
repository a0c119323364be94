// Keys as PostHog writes them.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  manifestKey,
  manifestText,
  objectKey,
  type ObjectNaming,
} from "../../../../src/batch_exports/destinations/objects/object_key.ts";
import { ExportError } from "../../../../src/batch_exports/failure.ts";
import { isoText } from "../../../../src/batch_exports/interval.ts";

const naming: ObjectNaming = {
  prefix: "posthog-events",
  model: "events",
  format: "JSONLines",
  compression: "gzip",
  interval: { start: Date.parse("2025-01-07T00:00:00Z"), end: Date.parse("2025-01-08T00:00:00Z") },
};

test("a key is the prefix, the interval, the format and the compression", () => {
  expect(objectKey(naming)).toBe(
    "posthog-events/2025-01-07T00:00:00+00:00-2025-01-08T00:00:00+00:00.jsonl.gz",
  );
  expect(objectKey({ ...naming, format: "Parquet", compression: null, prefix: "" }, 0)).toBe(
    "2025-01-07T00:00:00+00:00-2025-01-08T00:00:00+00:00-0.parquet",
  );
  expect(manifestKey({ ...naming, prefix: "/a//" })).toBe(
    "a/2025-01-07T00:00:00+00:00-2025-01-08T00:00:00+00:00_manifest.json",
  );
  expect(objectKey({ ...naming, interval: { start: null, end: naming.interval.end } })).toBe(
    "posthog-events/START-2025-01-08T00:00:00+00:00.jsonl.gz",
  );
  expect(manifestText(["a", 'b"'])).toBe('{"files":["a","b\\""]}');
});

test("the prefix is filled in from the interval's end", () => {
  const end = Date.parse("2025-03-04T05:06:07Z");
  const prefix =
    "{table}/{year}-{month}-{day}/{hour}{minute}{second}/{data_interval_start}/{data_interval_end}/";
  const key = objectKey({ ...naming, prefix, interval: { start: end - 1000, end } });
  expect(key.split("/").slice(0, -1).join("/")).toBe(
    "events/2025-03-04/050607/2025-03-04T05:06:06+00:00/2025-03-04T05:06:07+00:00",
  );
});

test("what cannot be filled in or written is refused", () => {
  for (const prefix of ["{yaer}", "{}", "a*b", "a?b", "{", "a}", "{constructor}", "a\nb"]) {
    expect(() => objectKey({ ...naming, prefix })).toThrow(ExportError);
  }
});

test("different intervals have different keys, and the same one always the same", () => {
  const end = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const interval = fc.record({ length: fc.integer({ min: 1, max: 604_800_000 }), end });
  fc.assert(
    fc.property(interval, interval, (one, other) => {
      const [a, b] = [one, other].map(({ length, end }) =>
        objectKey({ ...naming, interval: { start: end - length, end } }),
      );
      expect(a === b).toBe(one.end === other.end && one.length === other.length);
    }),
  );
});

test("moments have microseconds only where there are some", () => {
  expect(isoText(0)).toBe("1970-01-01T00:00:00+00:00");
  expect(isoText(1)).toBe("1970-01-01T00:00:00.001000+00:00");
});
