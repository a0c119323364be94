// The outcome of an event: ignored, for a reason, or accepted, perhaps with warnings. Both are closed lists. No error
// is thrown for an event: the others of its request are accepted.

import { wordsIn } from "../../core/words.ts";
import { captureLimits } from "../limits.ts";
import { entryLength, toOffset } from "./event_fields.ts";

/** Why an event was ignored. Names are PostHog's where it has one. */
export const reasons = wordsIn(`
  missing_event_name missing_distinct_id empty_distinct_id malformed_event malformed_event_properties nested_too_deep
  invalid_options message_size_too_large performance_event heatmap client_ingestion_warning snapshot
  snapshot_too_large missing_session_id missing_snapshot_data invalid_event_when_process_person_profile_is_false
  invalid_alias invalid_anon_distinct_id group_key_too_long invalid_cookieless_mode cookieless_team_disabled
  cookieless_missing_user_agent cookieless_missing_ip cookieless_missing_host cookieless_timestamp_out_of_range
  cookieless_unsupported_event cookieless_stateless_no_identify daily_event_quota_exceeded
`);
export type Reason = (typeof reasons)[number];

/** Warnings about an accepted event: it was altered, or it lacks what its kind needs. */
export const warnings = wordsIn(`
  distinct_id_truncated ignored_invalid_timestamp event_timestamp_in_future invalid_event_uuid
  unstorable_characters_replaced invalid_process_person_profile missing_alias missing_group_type missing_group_key
  invalid_group_set invalid_set missing_current_url missing_screen_name missing_survey_id
  person_properties_size_violation group_types_limit_exceeded cannot_merge_with_illegal_distinct_id
  cannot_merge_already_identified group_type_not_allowed invalid_utf8_replaced invalid_number_replaced
  event_outside_session snapshot_left_out
`);
export type Warning = (typeof warnings)[number];

/** One bit for each warning: a row has several of them in one number. */
export const warningBit = Object.fromEntries(warnings.map((name, i) => [name, 1 << i])) as Readonly<
  Record<Warning, number>
>;

/** An event that is shown as an example of its outcome. */
export interface Example<Type extends string> {
  type: Type;
  /** Its index in the batch. */
  index: number;
  /** Its entry of the scan's index, copied; undefined for an item that was no object. */
  entry: Int32Array | undefined;
  /** The uuid it was stored under, as its 16 bytes; undefined when it was not stored. */
  uuid: Uint8Array | undefined;
}

/** The events of one request that share an outcome, by type. */
export class Outcomes<Type extends string> {
  // Made when there is a first one: most requests have none.
  /** Counts by type, without the latest ones of #type: these are in #count, as a body may have millions of one type. */
  #counts: Map<Type, number> | undefined;
  #type: Type | undefined;
  #count = 0;
  #list: { index: number; reason: Type }[] | undefined;
  #examples: Example<Type>[] | undefined;
  total = 0;
  /** Collects the first type of each event, by its index in the batch. */
  firsts: Map<number, Type> | undefined;
  /** Whether all are listed, for a reply that has them: a body of 200 kB may have 100,000. */
  isListed: boolean | undefined;

  get counts(): ReadonlyMap<Type, number> {
    if (this.#type === undefined) return noCounts;
    this.#counts ??= new Map();
    return this.#counts.set(this.#type, this.#count);
  }

  /** The first captureLimits.ignoredListMax of all, if they are listed. */
  get list(): readonly { index: number; reason: Type }[] {
    return this.#list ?? [];
  }

  /** The first captureLimits.warningsPerMinuteMax of each type. */
  get examples(): readonly Example<Type>[] {
    return this.#examples ?? [];
  }

  /** @param index the event's index in the batch. @param entries hold its entry of the scan's index from `at` on. */
  add(index: number, type: Type, entries?: Int32Array, at = toOffset(0), uuid?: Uint8Array): void {
    if (type !== this.#type) {
      this.#count = this.counts.get(type) ?? 0;
      this.#type = type;
    }
    this.#count++;
    this.total++;
    if (this.firsts && !this.firsts.has(index)) this.firsts.set(index, type);
    if (this.isListed && this.total <= captureLimits.ignoredListMax)
      (this.#list ??= []).push({ index, reason: type });
    if (this.#count <= captureLimits.warningsPerMinuteMax) {
      const entry = entries?.slice(at, at + entryLength);
      (this.#examples ??= []).push({ type, index, entry, uuid: uuid?.slice() });
    }
  }

  clear(): void {
    this.#counts = undefined;
    this.#type = undefined;
    this.#list = undefined;
    this.#examples = undefined;
    this.total = 0;
  }
}

const noCounts: ReadonlyMap<never, number> = new Map<never, number>();
