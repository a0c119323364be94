// Options of capture, and the outcome of a body.

import type { ProjectKeys } from "../access/project_keys.ts";
import type { Clock } from "../core/clock.ts";
import type { CaptureJournal } from "./capture_journal.ts";
import type { Salts } from "./cookieless/day.ts";
import type { DailyQuotas } from "./daily_quota/daily_quotas.ts";
import type { DefinitionBook } from "./definitions/definition_book.ts";
import type { GroupTypes } from "./fields/changes.ts";
import type { Outcomes, Reason, Warning } from "./fields/outcome.ts";
import type { WarningBook } from "./warnings/warning_book.ts";
export interface CaptureCounts {
  /** Every event of an answered request: accepted + ignored. */
  received(events: number): void;
  accepted(lane: string, events: number): void;
  ignored(reason: Reason, events: number): void;
  /** Accepted events that were altered or lack what their kind needs; one event may have several warnings. */
  warned(warning: Warning, events: number): void;
}

export interface CaptureOptions {
  journal: CaptureJournal;
  keys: ProjectKeys;
  book: WarningBook;
  counts: CaptureCounts;
  clock: Clock;
  groupTypes: GroupTypes;
  definitions: Pick<DefinitionBook, "shapes" | "read" | "record">;
  /** The salts of the days whose cookieless events are accepted. */
  salts: Salts;
  /** Counts of today of projects with a quota. */
  dailyQuotas: Pick<DailyQuotas, "acquire" | "release">;
  /** When an answer may be sent: rows on disk, in ClickHouse, or only in memory. */
  ack: "journal" | "stored" | "memory";
  recordingRetentionDays: number;
}

/** The rules of a path for the bodies sent to it. */
export interface EndpointRules {
  /** Events without a name are `$identify` calls (/engage). */
  allowsNameless: boolean;
  /** A path for batches: an object that is neither a batch nor an event is refused for its missing `batch`. */
  isForBatches: boolean;
}

export interface CaptureResult {
  project_id: number;
  /** Events and snapshots. */
  accepted: number;
  /** Whether snapshots were ignored because the project records no sessions. */
  recordingsUnwanted: boolean;
  ignored: Outcomes<Reason>;
  warned: Outcomes<Warning>;
}
