// The journal that capture keeps, with its lanes as their owners make them.

import { eventLane } from "./columns/block.ts";
import { mergeLane } from "./event/merge_row.ts";
import { Journal, type JournalOptions, type LaneOf } from "./journal/journal.ts";
import { recordingLane } from "./recordings/snapshot_block.ts";
import { warningLane } from "./warnings/warning.ts";

export const captureLanes = {
  live: eventLane,
  historical: eventLane,
  warnings: warningLane,
  merges: mergeLane,
  recordings: recordingLane,
};

type CaptureLanes = typeof captureLanes;
export type EventLane = LaneOf<CaptureLanes["live"]>;
export type CaptureJournalOptions = Omit<JournalOptions<CaptureLanes>, "lanes">;

export class CaptureJournal extends Journal<CaptureLanes> {
  constructor(options: CaptureJournalOptions) {
    super({ ...options, lanes: captureLanes });
  }
}
