// Writes and syncs a row of 1.3 kB into a file of its own, 100 times a second, until its input ends: how long the disk
// itself lets a process wait, whatever else the machine does. The file does not grow, so no name and no size are synced.

import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { quantile } from "./answer.ts";

export interface SyncWaits {
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

const everyMs = 10;
const fileBytes = 4 * 1024 * 1024;
const row = new Uint8Array(1300).fill(120);

/** Runs with such a process beside, which writes to a file in `folder`. */
export async function besideSyncs<Result>(
  folder: string,
  run: () => Promise<Result>,
): Promise<{ result: Result; disk: SyncWaits }> {
  const command = [process.execPath, import.meta.path, `${folder}/sync_watch`];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const result = await run();
  await child.stdin.end();
  return { result, disk: JSON.parse(await new Response(child.stdout).text()) as SyncWaits };
}

async function watch(path: string): Promise<SyncWaits> {
  const file = openSync(path, "w");
  writeSync(file, new Uint8Array(fileBytes));
  fsyncSync(file);
  const waits: number[] = [];
  let isOver = false;
  const input = Bun.stdin.bytes().then(() => (isOver = true));
  for (let at = 0; !isOver; at = (at + row.length) % (fileBytes - row.length)) {
    const began = performance.now();
    writeSync(file, row, 0, row.length, at);
    fdatasyncSync(file);
    waits.push(performance.now() - began);
    await Bun.sleep(everyMs);
  }
  await input;
  closeSync(file);
  const sorted = waits.toSorted((a, b) => a - b);
  return { p50_ms: quantile(sorted, 0.5), p99_ms: quantile(sorted, 0.99), max_ms: quantile(sorted, 1) };
}

if (import.meta.main) {
  process.stdout.write(JSON.stringify(await watch(process.argv[2]!)));
  process.exit(0);
}
