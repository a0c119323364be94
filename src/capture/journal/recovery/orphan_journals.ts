// Journals of workers that are not started any more: their segments move to another journal. A journal that a process
// still writes is not touched.

import { basename } from "node:path";
import { sleep } from "../../../core/clock.ts";
import { UserError } from "../../../core/fault.ts";
import type { Log } from "../../../core/log.ts";
import { otherPostgres } from "../../../storage/identity.ts";
import { ownDataDir, type Owning } from "../../../storage/lock.ts";
import { type JournalIdentity, readJournalIdentity } from "../identity/journal_identity.ts";
import { syncFolder } from "../journal_io.ts";
import type { JournalSetup } from "../lane_kind.ts";
import { Ledger } from "../ledger.ts";
import { journalLimits } from "../limits.ts";
import { type Damage, Recovery } from "./recovery.ts";

/**
 * Moves the segments of the journals in `orphanDirs` to `folder`, where they count as an earlier process's: ids of
 * segments and batches are unique among all journals. Resolves to those journals, whose registrations may
 * go once `folder`'s own journal has published its watermark.
 * @throws UserError when one of them is still written, or another database's.
 */
export async function adoptOrphans(
  setup: JournalSetup,
  folder: string,
  { orphanDirs = [], ownership }: { orphanDirs?: readonly string[]; ownership: { database: string } },
  damaged: (damage: Damage) => void,
  log: Log,
): Promise<JournalIdentity[]> {
  const adopted: JournalIdentity[] = [];
  for (const dir of orphanDirs) {
    const owning = await ownSoon(dir);
    try {
      const from = `${dir}/journal`;
      const identity = readJournalIdentity(from);
      if (identity && identity.database !== ownership.database) throw otherPostgres(identity.postgres);
      const moved = setup.io.exists(from) ? await moveSegments(setup, from, folder, damaged, log) : 0;
      setup.io.remove(`${dir}/flush`);
      if (moved > 0)
        log.info("adopted the journal of a worker that is no longer started", { dir, segments: moved });
      if (identity) adopted.push(identity);
    } finally {
      owning.release();
    }
  }
  return adopted;
}

/** Owns a folder as soon as an earlier worker has released it. */
async function ownSoon(dir: string): Promise<Owning> {
  for (let waited = 0; ; waited += retryMs) {
    try {
      return ownDataDir(dir);
    } catch (thrown) {
      if (!(thrown instanceof UserError) || waited >= journalLimits.workersGoneMsMax) throw thrown;
      await sleep(retryMs);
    }
  }
}

const retryMs = 50;

/** Damaged files are reported, and stay where they are. */
async function moveSegments(
  setup: JournalSetup,
  from: string,
  to: string,
  damaged: (damage: Damage) => void,
  log: Log,
): Promise<number> {
  const ledger = new Ledger(setup, from);
  const recovery = new Recovery({ setup, folder: from, damaged, log });
  recovery.readFolder(ledger);
  const { io } = setup;
  for (const name of io.list(from)) if (name.endsWith(".spare")) io.remove(`${from}/${name}`);
  // A worker that is started here again must not use an id twice.
  if (!ledger.restart(recovery.lastMillis)) {
    throw new UserError(
      `the disk is full: ${from} cannot be adopted; start as many workers as before, or free space: du -sh ${to}/../*`,
    );
  }
  await ledger.close();
  for (const { path } of recovery.segments) io.rename(path, `${to}/${basename(path)}`);
  await syncFolder(io, to);
  await syncFolder(io, from);
  return recovery.segments.length;
}
