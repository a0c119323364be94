// Lines of the log.

import { expect, test } from "bun:test";
import { openLog } from "../../src/core/log.ts";

test.each(["pretty", "json"] as const)(
  "what others say stays on its line and is no order to a terminal: %s",
  (format) => {
    const lines: string[] = [];
    const log = openLog({ level: "info", format, write: (line) => void lines.push(line) });
    log.warn("refused", {
      reason: new Error("no\n12:00:00 error all is lost\u001b[2J\0"),
      said: "x".repeat(100_000),
    });
    expect(lines.length).toBe(1);
    // oxlint-disable-next-line no-control-regex
    expect(lines[0]).not.toMatch(/[\x00-\x1f]/);
    expect(lines[0]).toContain("no 12:00:00 error all is lost\uFFFD[2J");
    expect(lines[0]!.length).toBeLessThan(9000);
  },
);
