// What a project has pending in a journal, and how far a journal is stored.

/** What a project has in a lane. */
export interface PendingSize {
  /** As blocks estimate them; for segments found at the start, as in the file. */
  bytes: number;
  /** Of persons and groups; each becomes a row when stored. Unknown, and 0, for segments found at the start. */
  changes: number;
}

/** Arrival times in microseconds: everything that this journal appended before them is in ClickHouse. */
export interface Watermarks {
  /** Events, and merges. */
  stored: number;
  /** Events and merges, with the sessions that are derived from them. */
  derived: number;
  /** Pieces of recordings. */
  recordings: number;
}
