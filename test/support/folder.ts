// A folder of a test's own, gone when the test file is through.

import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
