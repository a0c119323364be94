// What an event's kind needs: properties checked by what the scan noted of them. Never reads the properties
// of other events.

import { limits } from "../../core/limits.ts";
import {
  type Indexed,
  field,
  firstTrait,
  grade,
  gradeIn,
  gradeOf,
  valueKind as wanted,
  knownKeys,
  noSlot,
  slotOf,
  trait,
} from "../scan/event_fields.ts";
import { type Reason, warningBit } from "./outcome.ts";
import type { Row } from "./row.ts";
import type { ByteRange } from "../scan/byte_range.ts";

export interface EventRule {
  /** Members that must be sound, and the warning when one is not: fields, or traits from firstTrait on. */
  needs: readonly (readonly [slot: number, bit: number, wanted: number])[];
  /** The same of members that may be left out: only a wrong one is warned about. */
  may?: readonly (readonly [slot: number, bit: number, wanted: number])[];
  /** It speaks of a person or group, which `$process_person_profile: false` forbids. */
  profile: boolean;
  /** A field that must be a text if it is there, and why the event is not taken otherwise. */
  id?: readonly [place: number, reason: Reason];
}

/** Kinds that need something, or must not be what they are not, by the name of the event. */
export const rulesByName: Record<string, EventRule> = {
  $create_alias: {
    needs: [[field.alias, warningBit.missing_alias, wanted.text]],
    profile: true,
    id: [field.alias, "invalid_alias"],
  },
  $merge_dangerously: {
    needs: [[field.alias, warningBit.missing_alias, wanted.text]],
    profile: true,
    id: [field.alias, "invalid_alias"],
  },
  // SDKs send an $identify without $set, and a $groupidentify without $group_set, of callers who gave no properties.
  $identify: {
    needs: [],
    may: [
      [field.$set, warningBit.invalid_set, wanted.object],
      [field.own_set, warningBit.invalid_set, wanted.object],
    ],
    profile: true,
    id: [field.$anon_distinct_id, "invalid_anon_distinct_id"],
  },
  $groupidentify: {
    needs: [
      [field.$group_type, warningBit.missing_group_type, wanted.text],
      [field.$group_key, warningBit.missing_group_key, wanted.text_or_number],
    ],
    may: [[field.$group_set, warningBit.invalid_group_set, wanted.object]],
    profile: true,
  },
  $pageview: {
    needs: [[firstTrait + trait.$current_url, warningBit.missing_current_url, wanted.text]],
    profile: false,
  },
  $screen: {
    needs: [[firstTrait + trait.$screen_name, warningBit.missing_screen_name, wanted.text]],
    profile: false,
  },
  "survey sent": {
    needs: [[firstTrait + trait.$survey_id, warningBit.missing_survey_id, wanted.text]],
    profile: false,
  },
  "survey shown": {
    needs: [[firstTrait + trait.$survey_id, warningBit.missing_survey_id, wanted.text]],
    profile: false,
  },
  "survey dismissed": {
    needs: [[firstTrait + trait.$survey_id, warningBit.missing_survey_id, wanted.text]],
    profile: false,
  },
};
const names = Object.keys(rulesByName);
const kinds = Object.values(rulesByName);
const slots = knownKeys(Object.fromEntries(names.map((name, i) => [name, i])));
const groupIdentify = names.indexOf("$groupidentify");

/**
 * Checks the event in `row`, whose entry is at `at`, for what its kind needs; notes warnings in row.warned.
 * @returns why it is not taken, or undefined.
 */
export function checkEventRule(index: Indexed, at: number, row: Row): Reason | undefined {
  const traits = index.entries[at + field.traits]!;
  const profile = gradeIn(traits, trait.$process_person_profile);
  if (profile === grade.wrong) row.warned |= warningBit.invalid_process_person_profile;
  const { source, from, to } = row.event;
  const slot = slotOf(slots, source, from, to);
  if (slot === noSlot) return undefined;
  const kind = kinds[slot]!;
  if (kind.profile && profile === grade.empty) return "invalid_event_when_process_person_profile_is_false";
  if (kind.id && gradeAt(index, at, kind.id[0], wanted.text) === grade.wrong) return kind.id[1];
  for (const [place, bit, what] of kind.needs) {
    if (gradeAt(index, at, place, what) !== grade.sound) row.warned |= bit;
  }
  for (const [place, bit, what] of kind.may ?? nothing) {
    if (gradeAt(index, at, place, what) === grade.wrong) row.warned |= bit;
  }
  return slot === groupIdentify && groupKeyIsLong(index, at) ? "group_key_too_long" : undefined;
}

const nothing = [] as const;

/** The grade of a field of entry `at` that should be of a kind, or of a trait. */
export function gradeAt({ bytes, entries }: Indexed, at: number, slot: number, what: number): number {
  if (slot >= firstTrait) return gradeIn(entries[at + field.traits]!, slot - firstTrait);
  const [from, to] = [entries[at + slot]!, entries[at + slot + 1]!];
  return to === 0 ? grade.absent : gradeOf(what, bytes[from]!, to - from);
}

function groupKeyIsLong({ bytes, entries }: Indexed, at: number): boolean {
  const [from, to] = [entries[at + field.$group_key]!, entries[at + field.$group_key + 1]!];
  return textIsLonger(bytes, from, to, limits.groupKeyCharsMax);
}

function textIsLonger(bytes: Uint8Array, from: number, to: number, charsMax: number): boolean {
  if (bytes[from] !== 0x22 || to - from - 2 <= charsMax) return false;
  return (JSON.parse(new TextDecoder().decode(bytes.subarray(from, to))) as string).length > charsMax;
}

/** Whether an event has this name (of plain letters). */
export function sameName({ source, from, to }: ByteRange, name: string): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (source[from + i] !== name.charCodeAt(i)) return false;
  return true;
}
