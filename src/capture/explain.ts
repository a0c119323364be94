// Why an event was ignored, altered or warned about, in words and values a person can act on. Never keeps
// more of a client's bytes than it quotes.

import { limits } from "../core/limits.ts";
import { field } from "./member.ts";
import type { Example, Reason, Warning } from "./outcome.ts";
import { uuidText } from "./row.ts";
import type { WarningRow } from "./warning.ts";

/** One sentence for each type. */
export const sentences: Readonly<Record<Reason | Warning, string>> = {
  missing_event_name: "The event was ignored: it has no name. Send a text as event.",
  missing_distinct_id: "The event was ignored: it has no distinct_id, nor have its properties.",
  empty_distinct_id: "The event was ignored: its distinct_id is empty.",
  malformed_event: "The item was ignored: it is no JSON object.",
  malformed_event_properties: "The event was ignored: its properties are no JSON object.",
  message_size_too_large: `The event was ignored: it is larger than ${limits.eventBytesMax} bytes.`,
  performance_event: "The event was ignored: $performance_event is not stored.",
  snapshot: "The snapshot was ignored: session_recording_opt_in of its project is off.",
  snapshot_too_large: `The snapshot was ignored: it is larger than ${limits.snapshotBytesMax} bytes.`,
  missing_session_id: "The snapshot was ignored: $session_id must be a text, and of 200 characters at most.",
  missing_snapshot_data: "The snapshot was ignored: $snapshot_data holds no rrweb event.",
  invalid_event_when_process_person_profile_is_false:
    "The event was ignored: it speaks of a person or group while $process_person_profile is false.",
  invalid_alias: "The event was ignored: alias must be a text.",
  invalid_anon_distinct_id: "The event was ignored: $anon_distinct_id must be a text.",
  group_key_too_long: `The event was ignored: $group_key has over ${limits.groupKeyCharsMax} characters.`,
  distinct_id_truncated: `distinct_id was cut to ${limits.distinctIdCharsMax} characters.`,
  ignored_invalid_timestamp:
    "The timestamp could not be used, so that the event has its time of arrival. Send ISO 8601.",
  event_timestamp_in_future:
    "The timestamp is more than 23 hours ahead, so that the event has its time of arrival.",
  invalid_event_uuid: "uuid is no UUID, so that the event got a new one.",
  unstorable_characters_replaced: "Characters that cannot be stored (NUL, lone surrogates) became U+FFFD.",
  invalid_process_person_profile: "$process_person_profile is neither true nor false; it counts as true.",
  missing_alias: "$create_alias and $merge_dangerously need alias (a text) in properties.",
  missing_group_type: "$groupidentify needs $group_type (a text) in properties.",
  missing_group_key: "$groupidentify needs $group_key (a text or number) in properties.",
  invalid_group_set: "$groupidentify needs $group_set (an object) in properties.",
  missing_set: "$identify needs $set (an object) or $anon_distinct_id in properties.",
  missing_current_url: "$pageview needs $current_url (a text) in properties.",
  missing_screen_name: "$screen needs $screen_name (a text) in properties.",
  missing_survey_id: "Survey events need $survey_id (a text) in properties.",
  person_properties_size_violation:
    `Some of $set, $set_once, $unset or $group_set was left out: at most ${limits.changesMax} keys of ` +
    `${limits.changeKeyBytesMax} bytes, ${limits.changesBytesMax} bytes in all. The event itself is kept.`,
  group_types_limit_exceeded:
    `A project has at most ${limits.groupTypesMax} types of groups: this event's further one is stored on ` +
    "the event and not kept as a group.",
  cannot_merge_with_illegal_distinct_id:
    "The ids were not merged: one of them is a placeholder like null or anonymous. The event itself is kept.",
  cannot_merge_already_identified:
    "The ids were not merged: the one to be merged is an identified person's already. Only " +
    "$merge_dangerously joins such persons. The event itself is kept.",
};

/** The field of the event that each type is about. */
const quoted: Partial<Record<Reason | Warning, keyof typeof field>> = {
  missing_event_name: "event",
  empty_distinct_id: "distinct_id",
  malformed_event_properties: "properties",
  distinct_id_truncated: "distinct_id",
  ignored_invalid_timestamp: "timestamp",
  event_timestamp_in_future: "timestamp",
  invalid_event_uuid: "uuid",
};

/** An example as a row to keep; `bytes` are the body that its entry points into, `now` in microseconds. */
export function explain(
  example: Example<Reason | Warning>,
  bytes: Uint8Array,
  project_id: number,
  now: number,
): WarningRow {
  const { type, index, entry, uuid } = example;
  const raw = (name: keyof typeof field): string | undefined => {
    const [from, to] = [entry?.[field[name]] ?? 0, entry?.[field[name] + 1] ?? 0];
    return to > from ? rawText(bytes, from, to) : undefined;
  };
  const details: Record<string, unknown> = { message: sentences[type], index };
  const name = quoted[type];
  if (name) Object.assign(details, { field: name, value: raw(name) });
  if (type === "ignored_invalid_timestamp" || type === "event_timestamp_in_future") {
    Object.assign(details, { offset: raw("offset") });
  }
  if (type === "message_size_too_large" && entry) {
    const size = entry[field.item + 1]! - entry[field.item]!;
    Object.assign(details, { bytes: size, bytes_max: limits.eventBytesMax });
  }
  const sent = raw("uuid");
  if (uuid) details["event_uuid"] = uuidText(uuid);
  else if (sent !== undefined) details["event_uuid"] = plainText(sent);
  return {
    project_id,
    type,
    details: JSON.stringify(details),
    event: plainText(raw("event") ?? ""),
    distinct_id: plainText(raw("distinct_id") ?? raw("properties_distinct_id") ?? ""),
    count: 1,
    timestamp: now,
  };
}

const decoder = new TextDecoder();

/** The first limits.warningValueCharsMax characters of a raw JSON value. */
function rawText(bytes: Uint8Array, from: number, to: number): string {
  // Four bytes a character at the most; one cut in half is shown as U+FFFD and then cut off.
  const end = Math.min(to, from + 4 * limits.warningValueCharsMax);
  return decoder.decode(bytes.subarray(from, end)).slice(0, limits.warningValueCharsMax);
}

/** A raw JSON text without its quotes and escapes, as far as it is whole. */
function plainText(raw: string): string {
  if (!raw.startsWith('"')) return raw;
  try {
    return storable(JSON.parse(raw) as string);
  } catch {
    return raw.slice(1);
  }
}

/** Without what no column holds: what is quoted may be of an event that was ignored as it came. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
