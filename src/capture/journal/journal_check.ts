// What a journal's state means to others: whether captures can be kept, and whether anybody has to wait for it.

import { journalLimits } from "./limits.ts";
import { writeDurably } from "./segments/files.ts";
import type { Journal } from "./journal.ts";

/** @throws with a code when captures are refused, or would be. */
export async function checkJournal(journal: Journal): Promise<void> {
  const wrong = (message: string, code: string) => Object.assign(new Error(message), { code });
  if (journal.tight) throw wrong("the disk is nearly full", "DISK_LOW");
  if (journal.full) throw wrong("the journal is full", "JOURNAL_FULL");
  if (journal.isFailing()) throw wrong("the journal could not be written just now", "JOURNAL_FAILING");
  // An empty file can be made where nothing can be written.
  await writeDurably(`${journal.folder}/check`, new Uint8Array(journalLimits.journalProbeBytes).fill(1));
}

/**
 * Whether everything it took is in ClickHouse, recordings and merges too. Such a journal leaves when its process
 * stops: exports and deletions of others would wait for it until it is given up for gone.
 */
export function isEmpty(journal: Journal): boolean {
  const now = journal.stamp();
  return journal.watermark() >= now && journal.pending().events === 0;
}
