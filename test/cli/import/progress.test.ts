import { describe, expect, test } from "bun:test";
import { Reporter } from "../../../src/cli/import/progress.ts";

function reporting(
  terminal: boolean,
  bytesTotal: number | undefined,
): {
  reporter: Reporter;
  lines: string[];
  drawn: string[];
  pass(ms: number): void;
} {
  let now = 1000;
  const lines: string[] = [];
  const drawn: string[] = [];
  const reporter = new Reporter({
    bytesTotal,
    terminal,
    clock: { now: () => now, elapsed: () => now },
    printError: (line) => void lines.push(line),
    draw: (text) => void drawn.push(text),
  });
  return { reporter, lines, drawn, pass: (ms) => void (now += ms) };
}

describe("progress", () => {
  test("on a terminal is a bar that is drawn over, ten times a second at the most", () => {
    const { reporter, lines, drawn, pass } = reporting(true, 1000);
    reporter.update({ bytes: 1, records: 1, sent: 0, settled: 1 });
    pass(2000);
    reporter.update({ bytes: 250, records: 5000, sent: 1200, settled: 5000 });
    pass(50);
    reporter.update({ bytes: 300, records: 5001, sent: 1200, settled: 5001 });
    expect(drawn).toEqual([
      "\r\u001b[2K[######..................] 25 %  5,000 read  2,500/s  1,200 sent  6 s left",
    ]);
    reporter.print("a line");
    expect(drawn.at(-1)).toBe("\r\u001b[2K");
    expect(lines).toEqual(["a line"]);
  });

  test("elsewhere is a line for every tenth, or every ten seconds", () => {
    const { reporter, lines, pass } = reporting(false, 1000);
    for (let bytes = 0; bytes <= 1000; bytes += 50) {
      pass(600);
      reporter.update({ bytes, records: bytes, sent: 0, settled: bytes });
    }
    expect(lines.map((line) => line.split("  ")[0])).toEqual(
      [10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map((n) => `${n} %`),
    );
    pass(10_000);
    reporter.update({ bytes: 1000, records: 1000, sent: 1000, settled: 1000 });
    expect(lines).toHaveLength(11);
  });

  test("of an input without a size shows what was read", () => {
    const { reporter, lines, pass } = reporting(false, undefined);
    pass(10_000);
    reporter.update({ bytes: 5, records: 20, sent: 7, settled: 20 });
    expect(lines).toEqual(["20 read  2/s  7 sent"]);
  });
});

test("of what was read only what the server answered for is done", () => {
  const { reporter, lines, pass } = reporting(false, 1000);
  pass(10_000);
  reporter.update({ bytes: 1000, records: 400, sent: 100, settled: 100 });
  pass(10_000);
  reporter.update({ bytes: 1000, records: 400, sent: 390, settled: 400 });
  expect(lines.map((line) => line.split("  ")[0])).toEqual(["25 %", "100 %"]);
});

test("only the first rejected lines are shown, and then their number", () => {
  const { reporter, lines } = reporting(false, 10);
  for (let line = 1; line <= 1025; line++) reporter.reject("a.csv", line, "no timestamp");
  reporter.close();
  expect(lines).toHaveLength(21);
  expect(lines[0]).toBe("a.csv:1: no timestamp");
  expect(lines.at(-1)).toBe("… and 1,005 more rejected lines");
});

test("waits that come together are reported once", () => {
  const { reporter, lines, pass } = reporting(false, 10);
  reporter.wait("503", 2000, 1);
  reporter.wait("503", 2000, 1);
  pass(5000);
  reporter.wait("503: full", 61_000, 3);
  expect(lines).toEqual([
    "the server answered 503; trying again in 2 s (attempt 1 failed)",
    "the server answered 503: full; trying again in 1 min 1 s (attempt 3 failed)",
  ]);
});
