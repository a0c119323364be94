// What is known of a journal before its start, and whether captures are accepted after it.

import { readdirSync } from "node:fs";
import type { KnownStores } from "../storage/identity.ts";
import { refuseHalfRestored } from "../storage/lock.ts";
import { type CaptureJournal, captureSetup } from "./capture_journal.ts";
import { readJournalIdentity } from "./journal/identity/journal_identity.ts";
import { writeDurably } from "./journal/journal_io.ts";
import { Ledger } from "./journal/ledger.ts";
import { journalLimits } from "./journal/limits.ts";

/** What the journal in DATA_DIR knows of its stores; undefined before the first start. @throws UserError. */
export function readKnownStores(dataDir: string): KnownStores | undefined {
  refuseHalfRestored(dataDir);
  const folder = `${dataDir}/journal`;
  const identity = readJournalIdentity(folder);
  if (!identity) return undefined;
  const { database, postgres } = identity;
  const isWaiting = readdirSync(folder).some((name) => name.endsWith(".segment"));
  const hasSent = !isWaiting && new Ledger(captureSetup, folder).read().lastMillis > 0;
  return { database, postgres, hasSent };
}

/** Checks that captures are accepted. @throws with a code when they are refused, or would be. */
export async function checkJournal(journal: CaptureJournal): Promise<void> {
  const problem = (message: string, code: string) => Object.assign(new Error(message), { code });
  if (journal.isTight) throw problem("the disk is nearly full", "DISK_LOW");
  if (journal.isFull) throw problem("the journal is full", "JOURNAL_FULL");
  if (journal.isFailing()) throw problem("the journal could not be written just now", "JOURNAL_FAILING");
  // An empty file can be made even where nothing can be written.
  await writeDurably(
    journal.io,
    `${journal.folder}/check`,
    new Uint8Array(journalLimits.journalProbeBytes).fill(1),
  );
}
