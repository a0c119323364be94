// The journal that capture keeps: its lanes, as their owners make them, and who may take how much of it.

import { historicalLane, liveLane } from "./columns/block.ts";
import { FirstRanks } from "./event/first_ranks.ts";
import { type MergeAppender, mergeLane } from "./event/merge_row.ts";
import { emptyRow } from "./event/row.ts";
import { Journal, type JournalOptions } from "./journal/journal.ts";
import { systemIo } from "./journal/journal_io.ts";
import type { JournalSetup } from "./journal/lane_kind.ts";
import { CaptureQuota } from "./journal/quota.ts";
import { recordingLane } from "./recordings/snapshot_block.ts";
import { warningLane } from "./warnings/warning.ts";

/** Their order is part of the journal's format: a new lane comes last. */
export const captureLanes = [liveLane, historicalLane, warningLane, mergeLane, recordingLane];

/** What reads or copies the files of a journal on this machine. */
export const captureSetup: JournalSetup = { io: systemIo, lanes: captureLanes };

export interface CaptureJournalOptions
  extends Omit<JournalOptions, keyof JournalSetup>, Partial<JournalSetup> {
  /** Where merges are appended instead of this journal's own lane. */
  mergesTo?: MergeAppender;
}

export class CaptureJournal extends Journal {
  readonly live = this.laneOf(liveLane);
  readonly historical = this.laneOf(historicalLane);
  readonly warnings = this.laneOf(warningLane);
  readonly merges = this.laneOf(mergeLane);
  readonly recordings = this.laneOf(recordingLane);
  /** Where merges go: their lane, or another process's. */
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
