import { expect, test } from "bun:test";
import { openLog } from "../../src/core/log.ts";
import { openRepeatedLog } from "../../src/work/repeated_log.ts";

function openRepeated() {
  const lines: Record<string, unknown>[] = [];
  const clock = { millis: 0, now: () => clock.millis, elapsed: () => clock.millis };
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = openLog({ level: "info", format: "json", write, clock });
  return { lines, clock, repeated: openRepeatedLog(log, clock) };
}

test("what happens a thousand times a second is said at once, and then once a minute with how often", () => {
  const { lines, clock, repeated } = openRepeated();
  for (let second = 0; second < 180; second++) {
    for (let i = 0; i < 1000; i++) repeated.error("cannot write", { lane: "live", reason: `no ${second}` });
    clock.millis += 1000;
    repeated.poll();
  }
  expect(lines.map(({ times, reason, seconds }) => [times, reason, seconds])).toEqual([
    [undefined, "no 0", undefined],
    [59_999, "no 59", 60],
    [60_000, "no 119", 60],
    [60_000, "no 179", 60],
  ]);
});

test("after a quiet minute the next is said at once again", () => {
  const { lines, clock, repeated } = openRepeated();
  repeated.warn("odd");
  clock.millis += 60_000;
  repeated.poll();
  repeated.warn("odd");
  expect(lines).toHaveLength(2);
});

test("lanes and messages are told apart, and what was not said yet is said at the end", () => {
  const { lines, repeated } = openRepeated();
  for (const lane of ["live", "historical"]) {
    for (let i = 0; i < 3; i++) repeated.warn("given up", { lane });
  }
  repeated.info("by the way");
  repeated.info("by the way");
  expect(lines).toHaveLength(4);
  repeated.close();
  expect(lines.slice(4).map(({ lane, times }) => [lane, times])).toEqual([
    ["live", 2],
    ["historical", 2],
  ]);
});
