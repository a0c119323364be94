// A folder of a test's own, gone when the test file is through.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { later } from "./cleanup.ts";

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  later(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
