// The journal that capture keeps: its lanes, as their owners make them, who may take how much of it, and
// what is known of it before its start.

import { readdirSync } from "node:fs";
import type { KnownStores } from "../storage/identity.ts";
import { refuseHalfRestored } from "../storage/lock.ts";
import { historicalLane, liveLane } from "./columns/block.ts";
import { FirstRanks } from "./event/first_ranks.ts";
import { type MergeAppender, mergeLane } from "./event/merge_row.ts";
import { emptyRow } from "./fields/row.ts";
import { readJournalIdentity } from "./journal/identity/journal_identity.ts";
import { Journal, type JournalOptions } from "./journal/journal.ts";
import { systemIo, writeDurably } from "./journal/journal_io.ts";
import type { JournalSetup } from "./journal/lane_kind.ts";
import { Ledger } from "./journal/ledger.ts";
import { journalLimits } from "./journal/limits.ts";
import { CaptureQuota } from "./journal/quota.ts";
import { recordingLane } from "./recordings/snapshot_block.ts";
import { warningLane } from "./warnings/warning.ts";

/** Their order is part of the journal's format: a new lane comes last. */
export const captureLanes = [liveLane, historicalLane, warningLane, mergeLane, recordingLane];

/** Reads and copies the files of a journal on this machine. */
export const captureSetup: JournalSetup = { io: systemIo, lanes: captureLanes };

export interface CaptureJournalOptions
  extends Omit<JournalOptions, keyof JournalSetup>, Partial<JournalSetup> {
  /** Takes merges instead of this journal's own lane. */
  mergesTo?: MergeAppender;
}

export class CaptureJournal extends Journal {
  readonly live = this.getLane(liveLane);
  readonly historical = this.getLane(historicalLane);
  readonly warnings = this.getLane(warningLane);
  readonly merges = this.getLane(mergeLane);
  readonly recordings = this.getLane(recordingLane);
  /** Takes merges: their lane, or another process's. */
  readonly merging: MergeAppender;
  readonly quota: CaptureQuota<EventLane>;
  /** Reused for every event that is read; its values are valid until the next await. */
  readonly row = emptyRow();
  readonly firstRanks = new FirstRanks();

  constructor(options: CaptureJournalOptions) {
    super({ ...captureSetup, ...options });
    this.merging = options.mergesTo ?? this.merges;
    this.quota = new CaptureQuota({
      lanes: this,
      bytesMax: options.bytesMax,
      freeBytes: () => this.freeBytes,
      recordingBytes: () => this.bytesIn(recordingLane),
      isTight: () => this.isTight,
    });
  }
}

export type EventLane = CaptureJournal["live"];

/** Reads which stores the journal in DATA_DIR was used with; undefined before its first start. @throws UserError. */
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
