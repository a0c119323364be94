// A sentence for each type of warning.

import { limits } from "../../core/limits.ts";
import type { Reason, Warning } from "../fields/outcome.ts";
import { captureLimits } from "../limits.ts";

export const sentences: Readonly<Record<Reason | Warning, string>> = {
  missing_event_name: "The event was ignored: it has no name. Send a text as event.",
  missing_distinct_id: "The event was ignored: it has no distinct_id, and neither do its properties.",
  empty_distinct_id: "The event was ignored: its distinct_id is empty.",
  malformed_event: "The item was ignored: it is not a JSON object.",
  nested_too_deep: `The event was ignored: it is nested deeper than ${limits.jsonDepthMax}.`,
  malformed_event_properties: "The event was ignored: its properties are not a JSON object.",
  invalid_options:
    "The event was ignored: its options are not an object, or one of them has a value of the wrong type.",
  message_size_too_large: `The event was ignored: it is larger than ${limits.eventBytesMax} bytes.`,
  performance_event: "The event was ignored: $performance_event is not stored.",
  heatmap: "The event was ignored: heatmaps are not stored.",
  client_ingestion_warning: "An SDK sent a warning of its own. It is listed here and not stored as an event.",
  snapshot: "The snapshot was ignored: session_recording_opt_in of its project is false.",
  snapshot_too_large: `The snapshot was ignored: it is larger than ${captureLimits.snapshotBytesMax} bytes.`,
  missing_session_id: "The snapshot was ignored: $session_id must be a text of at most 200 characters.",
  missing_snapshot_data: "The snapshot was ignored: $snapshot_data holds no rrweb event.",
  invalid_event_when_process_person_profile_is_false:
    "The event was ignored: it is about a person or group, but $process_person_profile is false.",
  invalid_alias: "The event was ignored: alias must be a text.",
  invalid_anon_distinct_id: "The event was ignored: $anon_distinct_id must be a text.",
  group_key_too_long: `The event was ignored: $group_key has over ${limits.groupKeyCharsMax} characters.`,
  invalid_cookieless_mode: "The event was ignored: $cookieless_mode must be true or false.",
  cookieless_team_disabled:
    "The event was ignored: it is in cookieless mode, but cookieless_server_hash_mode of its project is 0.",
  cookieless_missing_user_agent:
    "The event was ignored: in cookieless mode it needs $raw_user_agent (a text).",
  cookieless_missing_ip:
    "The event was ignored: in cookieless mode it needs the client's address. Send $ip, or set TRUSTED_PROXIES.",
  cookieless_missing_host: "The event was ignored: in cookieless mode it needs $host (a text).",
  cookieless_timestamp_out_of_range:
    "The event was ignored: in cookieless mode, the timestamp must be close to now.",
  cookieless_unsupported_event:
    "The event was ignored: ids of cookieless mode last a day and cannot be merged.",
  cookieless_stateless_no_identify:
    "The event was ignored: a visitor in cookieless mode cannot be identified. Ask for consent first.",
  daily_event_quota_exceeded:
    "The event was ignored: its project has had daily_event_quota events today. The day ends at midnight, UTC.",
  distinct_id_truncated: `distinct_id or the merged id was cut to ${captureLimits.distinctIdCharsMax} characters.`,
  ignored_invalid_timestamp: "The timestamp is invalid, so the event has its time of arrival. Send ISO 8601.",
  event_timestamp_in_future:
    "The timestamp is more than 23 hours ahead, so the event has its time of arrival.",
  invalid_event_uuid: "uuid is not a UUID, so the event got a new one.",
  unstorable_characters_replaced: "Characters that cannot be stored (NUL, lone surrogates) became U+FFFD.",
  invalid_utf8_replaced:
    "Bytes that are not UTF-8 became U+FFFD, or the character that a surrogate pair encodes.",
  invalid_number_replaced: "NaN, Infinity or -Infinity, which JSON does not have, became null.",
  invalid_process_person_profile: "$process_person_profile is neither true nor false; it counts as true.",
  missing_alias: "$create_alias and $merge_dangerously need alias (a text) in properties.",
  missing_group_type: "$groupidentify needs $group_type (a text) in properties.",
  missing_group_key: "$groupidentify needs $group_key (a text or number) in properties.",
  invalid_group_set: "$group_set of $groupidentify must be an object.",
  invalid_set: "$set of $identify must be an object.",
  missing_current_url: "$pageview needs $current_url (a text) in properties.",
  missing_screen_name: "$screen needs $screen_name (a text) in properties.",
  missing_survey_id: "Survey events need $survey_id (a text) in properties.",
  person_properties_size_violation:
    `Some of $set, $set_once, $unset or $group_set was left out: at most ${captureLimits.changesMax} keys of ` +
    `${captureLimits.changeKeyBytesMax} bytes, ${captureLimits.changesBytesMax} bytes in all. ` +
    "The event itself is stored.",
  group_types_limit_exceeded:
    `A project has at most ${limits.groupTypesMax} group types. This event's further type is stored in its ` +
    "properties, but not as a group.",
  group_type_not_allowed:
    "The project's allowed_group_types do not include this group type. It is stored in the event's properties, " +
    "but the event belongs to no such group.",
  cannot_merge_with_illegal_distinct_id:
    "The ids were not merged: one of them is a placeholder like null or anonymous. The event itself is stored.",
  cannot_merge_already_identified:
    "The ids were not merged: the id to be merged already belongs to an identified person. Only " +
    "$merge_dangerously joins such persons. The event itself is stored.",
  snapshot_left_out:
    `An event of the snapshot is larger than ${limits.snapshotShownBytesMax} bytes, or than ` +
    `${limits.snapshotInflatedBytesMax} inflated: it is stored, but not played. Record a smaller page, or update ` +
    "posthog-js, which compresses it.",
  event_outside_session:
    "The event's time lies outside of its session, by the time in $session_id (a UUIDv7) and a day. It counts as an " +
    "event of the session and does not change when that began or ended.",
};
