// A folder of a test's own, gone when the test file is through.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { later } from "./cleanup.ts";

/** The stores of a server that was killed end a moment after it, and write until then. */
const goneMsMax = 20_000;

/**
 * Where the system has one with room for many files at once, a disk in memory: files that live for a moment cost a
 * quarter there. No test takes power from the machine, and a killed process loses nothing on either.
 */
function findHome(): string {
  try {
    const { bavail, bsize } = statfsSync(memoryDisk);
    if (bavail * bsize >= memoryBytesMin) return memoryDisk;
  } catch {
    // There is none.
  }
  return tmpdir();
}

const memoryDisk = "/dev/shm";
const memoryBytesMin = 4 * 2 ** 30;

const home = findHome();

export function makeFolder(): string {
  const folder = mkdtempSync(join(home, "sluice-test-"));
  later(() => removeFolder(folder));
  return folder;
}

/** Removes a folder when no process works in it any more, or no longer waits for that. */
export async function removeFolder(folder: string): Promise<void> {
  const patience = Date.now() + goneMsMax;
  while (isUsed(folder) && Date.now() < patience) await Bun.sleep(20);
  rmSync(folder, { recursive: true, force: true });
}

/** Whether a process was started with the folder among its arguments; nobody knows where there is no /proc. */
function isUsed(folder: string): boolean {
  return pids().some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      // It ended meanwhile.
      return false;
    }
  });
}

function pids(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  } catch {
    return [];
  }
}
