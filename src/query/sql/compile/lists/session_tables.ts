// The tables of sessions, recordings and ingestion warnings.

import { wordsIn } from "../../../../core/words.ts";
import { sessionExpressions, textExpressions } from "../../../../storage/events/session_property.ts";
import { sqlColumns, type SqlTable, withoutDictionary } from "./table.ts";

const textProperties = Object.fromEntries(
  Object.keys(textExpressions).map((name) => [
    name,
    { sql: `nullIf(${sessionExpressions[name]!}, '')`, type: "string", nullable: true } as const,
  ]),
);

export const sessions: SqlTable = {
  source: "sessions",
  columns: {
    ...sqlColumns("string", "session_id id=session_id distinct_id"),
    session_id_v7: {
      sql: "toUInt128(accurateCastOrNull(session_id, 'UUID'))",
      type: "number",
      nullable: true,
    },
    ...sqlColumns("datetime", "$start_timestamp=start_time $end_timestamp=end_time max_inserted_at=arrived"),
    ...textProperties,
    ...sqlColumns(
      "string",
      "$channel_type=channel_type $exit_current_url=exit_url $exit_pathname=exit_pathname",
    ),
    ...sqlColumns("number", "$session_duration=duration duration $pageview_count=pageview_count"),
    ...sqlColumns("number", "$autocapture_count=autocapture_count $screen_count=screen_count"),
    ...sqlColumns("number", "$event_count=event_count team_id=project_id"),
    $is_bounce: { sql: "toBool(is_bounce)", type: "boolean" },
    $vitals_lcp: { sql: "if(vitals_lcp > 0, vitals_lcp, NULL)", type: "number", nullable: true },
  },
  star: wordsIn(
    "session_id distinct_id $start_timestamp $end_timestamp max_inserted_at $entry_current_url $entry_pathname " +
      "$entry_hostname $end_current_url $end_pathname $end_hostname $entry_referring_domain $entry_utm_source " +
      "$entry_utm_campaign $entry_utm_medium $entry_utm_term $entry_utm_content $pageview_count " +
      "$autocapture_count $screen_count $channel_type $session_duration $is_bounce $last_external_click_url",
  ),
  joins: {
    person: {
      table: "person_distinct_ids",
      left: "distinct_id",
      right: "distinct_id",
      by: "person",
      rows: "one",
    },
  },
};

export const session_recordings: SqlTable = {
  source: "session_recordings",
  scope: "session_recording:read",
  columns: {
    ...sqlColumns("string", "session_id distinct_id"),
    ...sqlColumns(
      "datetime",
      "start_time end_time min_first_timestamp=start_time max_last_timestamp=end_time",
    ),
    ...sqlColumns("string", "start_url first_url=start_url snapshot_source"),
    ...sqlColumns("number", "duration=recording_duration active_seconds inactive_seconds click_count"),
    ...sqlColumns("number", "keypress_count mouse_activity_count console_log_count console_warn_count"),
    ...sqlColumns("number", "console_error_count activity_score size message_count=chunk_count"),
    ...sqlColumns("number", "lacks_full_snapshot"),
    active_milliseconds: { sql: "active_seconds * 1000", type: "number" },
    ...sqlColumns("number", "team_id=project_id"),
  },
  star: wordsIn(
    "session_id distinct_id start_time end_time duration start_url click_count keypress_count " +
      "mouse_activity_count active_milliseconds console_log_count console_warn_count console_error_count " +
      "snapshot_source",
  ),
  joins: {
    pdi: { table: "person_distinct_ids", left: "distinct_id", right: "distinct_id", rows: "one" },
    session: { table: "sessions", left: "session_id", right: "session_id", rows: "one" },
  },
};

export const ingestion_warnings: SqlTable = {
  source: "ingestion_warnings",
  columns: {
    type: { sql: withoutDictionary("type"), type: "string" },
    ...sqlColumns("string", "event distinct_id"),
    ...sqlColumns("json", "details"),
    ...sqlColumns("number", "count"),
    ...sqlColumns("datetime", "timestamp"),
    ...sqlColumns("number", "team_id=project_id"),
  },
  star: wordsIn("type details event distinct_id count timestamp"),
};
