import { expect, test } from "bun:test";
import fc from "fast-check";
import { PendingByProject } from "../../../src/capture/journal/lane.ts";

test("what a project has waiting is counted from its block until its segment is flushed", () => {
  const usage = new PendingByProject();
  usage.add(1, 100, 2);
  usage.add(2, 10, 0);
  usage.add(1, 50, 1);
  expect([usage.of(1), usage.of(2), usage.total]).toEqual([
    { bytes: 150, changes: 3 },
    { bytes: 10, changes: 0 },
    { bytes: 160, changes: 3 },
  ]);
  usage.beginWrite();
  // What comes meanwhile is of the next group.
  usage.add(1, 5, 0);
  usage.assign(7n);
  expect(usage.of(1)).toEqual({ bytes: 155, changes: 3 });
  usage.release(7n);
  expect([usage.of(1), usage.of(2)]).toEqual([
    { bytes: 5, changes: 0 },
    { bytes: 0, changes: 0 },
  ]);
});

test("a group that could not be written counts no more", () => {
  const usage = new PendingByProject();
  usage.add(1, 100, 2);
  usage.beginWrite();
  usage.dropUnwritten();
  expect([usage.of(1), usage.total]).toEqual([
    { bytes: 0, changes: 0 },
    { bytes: 0, changes: 0 },
  ]);
  usage.add(1, 1, 1);
  expect(usage.of(1)).toEqual({ bytes: 1, changes: 1 });
});

test("whatever the order of steps, projects' counts add up to the whole, and to nothing in the end", () => {
  const step = fc.oneof(
    fc.record({ project: fc.integer({ min: 1, max: 4 }), bytes: fc.nat(100), changes: fc.nat(5) }),
    fc.constantFrom("write", "fail", "flush" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const usage = new PendingByProject();
      const segments: bigint[] = [];
      let next = 1n;
      const flush = () => {
        const segment = segments.shift();
        if (segment !== undefined) usage.release(segment);
      };
      for (const one of steps) {
        if (typeof one === "object") usage.add(one.project, one.bytes, one.changes);
        else if (one === "flush") flush();
        else {
          usage.beginWrite();
          if (one === "write") {
            // Two groups may be in one segment.
            if (segments.length === 0 || next % 2n === 0n) segments.push(next);
            next++;
            usage.assign(segments.at(-1)!);
          } else usage.dropUnwritten();
        }
        const sum = [1, 2, 3, 4].reduce((all, project) => all + usage.of(project).bytes, 0);
        if (sum !== usage.total.bytes) return false;
      }
      usage.beginWrite();
      usage.dropUnwritten();
      while (segments.length > 0) flush();
      return usage.total.bytes === 0 && usage.total.changes === 0 && usage.of(1).bytes === 0;
    }),
  );
});
