// Journals that have no process any more: what they hold is moved into one that has. Never takes from a journal that
// somebody still writes.

import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { UserError } from "../../../core/fault.ts";
import { sleep } from "../../../core/clock.ts";
import { journalLimits } from "../limits.ts";
import type { Log } from "../../../core/log.ts";
import { type Owning, ownDataDir } from "../../../storage/lock.ts";
import { syncFolder } from "../segments/files.ts";
import { readJournalIdentity } from "../identity/journal_identity.ts";
import type { JournalPair } from "../identity/journal_pair.ts";
import { Ledger } from "../ledger.ts";
import { type Damage, Recovery } from "./recovery.ts";

/** Folders of workers that have no process yet. */
export interface WorkerFolders {
  /** Those that will have none. */
  leftDirs?: readonly string[];
  /** All. */
  workerDirs?: readonly string[];
  log: Log;
}

/**
 * Whose journals are taken in: those left, or when the database is another one all there are, so that what waits in
 * them is known. One that lived with another database than this journal stays where it is.
 */
export function leftOf(
  pair: Pick<JournalPair, "isForeign" | "database">,
  { leftDirs = [], workerDirs = [], log }: WorkerFolders,
): string[] {
  return (pair.isForeign ? workerDirs : leftDirs).filter((dir) => {
    const bond = readJournalIdentity(`${dir}/journal`)?.bond;
    if (!bond || pair.database === undefined || bond.database === pair.database) return true;
    log.warn("a worker's journal is of another Postgres and stays where it is", {
      dir,
      postgres: bond.postgres,
    });
    return false;
  });
}

/**
 * Moves the segments of the journals in `leftDirs` to `folder`, where they count as an earlier process's: numbers of
 * segments and batches are unlike in all journals. Resolves to those journals' names, which nobody has to wait for as
 * soon as `folder`'s own journal has told how far it has come.
 * @throws UserError when one of them is still written.
 */
export async function takeOverJournals(
  folder: string,
  leftDirs: readonly string[],
  damaged: (damage: Damage) => void,
  log: Log,
): Promise<string[]> {
  const names: string[] = [];
  for (const dir of leftDirs) {
    const owning = await ownSoon(dir);
    try {
      const from = `${dir}/journal`;
      const moved = existsSync(from) ? await moveSegments(from, folder, damaged, log) : 0;
      rmSync(`${dir}/flush`, { recursive: true, force: true });
      if (moved > 0)
        log.info("took in the journal of a worker that is not started any more", { dir, segments: moved });
      const name = readJournalIdentity(from)?.name;
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
      if (!(thrown instanceof UserError) || waited >= journalLimits.workersGoneMsMax) throw thrown;
      await sleep(againMs);
    }
  }
}

const againMs = 50;

/** What is damaged is told, and stays in the folder it was found in. */
async function moveSegments(
  from: string,
  to: string,
  damaged: (damage: Damage) => void,
  log: Log,
): Promise<number> {
  const ledger = new Ledger(from);
  const recovery = new Recovery({ folder: from, damaged, log });
  recovery.takeFolder(ledger);
  for (const name of readdirSync(from))
    if (name.endsWith(".spare")) rmSync(`${from}/${name}`, { force: true });
  // Should this journal have a process again, it hands out no number twice.
  if (!ledger.restart(recovery.lastMillis)) {
    throw new UserError(
      `the disk is full: ${from} cannot be taken in; make room, or start as many workers as before`,
    );
  }
  await ledger.close();
  for (const { path } of recovery.segments) renameSync(path, `${to}/${basename(path)}`);
  await syncFolder(to);
  await syncFolder(from);
  return recovery.segments.length;
}
