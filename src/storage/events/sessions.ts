// How stored events are fed to session_feed, whose view derives sessions: by a deletion for the events it leaves, and
// by the flush where the journal's own blocks cannot be sent once more.

import { storageLimits } from "../limits.ts";

/** The table that derives sessions from what is inserted into it, and keeps nothing itself. */
export const sessionFeed = "session_feed";

/**
 * Settings of an INSERT into it: rows are grouped by session a block at a time, and each block becomes a part. Columns
 * of the journal's blocks that sessions do not need are skipped.
 */
export const feedSettings = {
  min_insert_block_size_rows: "0",
  min_insert_block_size_bytes: String(storageLimits.sessionBlockBytes),
  input_format_skip_unknown_fields: 1,
} as const;

const columns = "uuid, project_id, event, distinct_id, properties, timestamp, created_at";

/** The statement that feeds those stored events of which `which` is true. Doing so again changes nothing. */
export const feedSessionsOf = (which: string): string =>
  `INSERT INTO ${sessionFeed} (${columns}) SELECT ${columns} FROM event_rows WHERE ${which}`;
