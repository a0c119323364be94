// The journal of a process, from its start to its end: opened, published, checked, sealed.

import { readdirSync } from "node:fs";
import type { KnownStores } from "../storage/identity.ts";
import { refuseHalfRestored } from "../storage/lock.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type CaptureJournal, captureSetup } from "./capture_journal.ts";
import { type JournalIdentity, readJournalIdentity } from "./journal/identity/journal_identity.ts";
import type { JournalOwnership } from "./journal/identity/ownership.ts";
import { leaveJournals } from "./journal/identity/store.ts";
import { Ledger } from "./journal/ledger.ts";
import { journalLimits } from "./journal/limits.ts";
import { writeDurably } from "./journal/segments/files.ts";

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

/** Publishes the journal's watermark; then removes the registrations of journals that it adopted. */
export function publisherOf(
  sql: Postgres,
  journal: CaptureJournal,
  ownership: JournalOwnership,
  adopted: JournalIdentity[],
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const publish = async () => {
    await ownership.publish(journal);
    for (let identity = adopted.at(-1); identity; identity = adopted.at(-1)) {
      await leaveJournals(sql, identity);
      adopted.pop();
    }
  };
  // One at a time: each may have to claim the journal, or a new number.
  return () => (running ??= publish().finally(() => (running = undefined)));
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

/** Seals the last segments and flushes them, unless journal and stores do not belong together (`isBroken`). */
export async function sealJournal(
  journal: CaptureJournal,
  isBroken: boolean,
  drain: (forMs: number) => Promise<unknown>,
  ms: number,
): Promise<void> {
  if (isBroken) await drain(0);
  await journal.close();
  if (!isBroken) await drain(ms);
}
