// Journals that have no process any more: what they hold is moved into one that has. Never takes from a journal that
// somebody still writes.

import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { UserError } from "../core/fault.ts";
import { sleep } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Owning, ownDataDir } from "../storage/lock.ts";
import { syncFolder } from "./files.ts";
import { Ledger } from "./ledger.ts";
import { millisOfSegment } from "./segment.ts";

/** Who a journal is among all that feed the same ClickHouse. */
export interface Identity {
  name: string;
  number: number;
}

/** Undefined before the journal's first start. */
export function readIdentity(folder: string): Identity | undefined {
  const path = `${folder}/identity.json`;
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Identity) : undefined;
}

/**
 * Moves the segments of the journals in `leftDirs` to `folder`, where they count as an earlier process's: numbers of
 * segments and batches are unlike in all journals. Resolves to those journals' names, which nobody has to wait for as
 * soon as `folder`'s own journal has told how far it has come.
 * @throws UserError when one of them is still written.
 */
export async function adoptJournals(
  folder: string,
  leftDirs: readonly string[],
  log: Log,
): Promise<string[]> {
  const names: string[] = [];
  for (const dir of leftDirs) {
    const owning = await ownSoon(dir);
    try {
      const from = `${dir}/journal`;
      const moved = existsSync(from) ? await moveSegments(from, folder) : 0;
      rmSync(`${dir}/flush`, { recursive: true, force: true });
      if (moved > 0)
        log.info("took in the journal of a worker that is not started any more", { dir, segments: moved });
      const name = readIdentity(from)?.name;
      if (name !== undefined) names.push(name);
    } finally {
      owning.release();
    }
  }
  return names;
}

/** Owns a folder as soon as a process of an earlier life has let go of it. */
export async function ownSoon(dir: string): Promise<Owning> {
  for (let waited = 0; ; waited += againMs) {
    try {
      return ownDataDir(dir);
    } catch (thrown) {
      if (!(thrown instanceof UserError) || waited >= limits.workersGoneMsMax) throw thrown;
      await sleep(againMs);
    }
  }
}

const againMs = 50;

async function moveSegments(from: string, to: string): Promise<number> {
  const ledger = new Ledger(from);
  const { finished, lastMillis } = ledger.read();
  for (const name of finished) rmSync(`${from}/${basename(name)}`, { force: true });
  const names = readdirSync(from);
  for (const name of names) if (name.endsWith(".spare")) rmSync(`${from}/${name}`, { force: true });
  const segments = names.filter((name) => name.endsWith(".segment") && !finished.includes(name));
  // Should this journal have a process again, it hands out no number twice.
  ledger.restart(Math.max(lastMillis, ...segments.map(millisOf)));
  for (const name of segments) renameSync(`${from}/${name}`, `${to}/${name}`);
  await syncFolder(to);
  await syncFolder(from);
  return segments.length;
}

function millisOf(name: string): number {
  const id = /-([0-9a-f]{16})\.segment$/.exec(name)?.[1];
  return id === undefined ? 0 : millisOfSegment(BigInt(`0x${id}`));
}
