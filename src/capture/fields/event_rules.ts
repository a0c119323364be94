// The rules for events by their names: what such an event needs, checked by what the scan recorded of its properties.

import { decodeText } from "../../core/bytes.ts";
import { limits } from "../../core/limits.ts";
import {
  type EntryOffset,
  field,
  firstTrait,
  grade,
  gradeIn,
  gradeValue,
  type Indexed,
  knownKeys,
  noSlot,
  toSlot,
  trait,
  valueKind as wanted,
} from "./event_fields.ts";
import { type Reason, warningBit } from "./outcome.ts";
import type { ByteRange } from "./raw_value.ts";
import type { Row } from "./row.ts";

interface EventRule {
  /** Members that must be valid, and the warning when one is not: fields, or traits from firstTrait on. */
  needs: readonly (readonly [slot: number, bit: number, wanted: number])[];
  /** Optional members: only a wrong value gives a warning. */
  may: readonly (readonly [slot: number, bit: number, wanted: number])[];
  /** It changes a person or group, which `$process_person_profile: false` forbids. */
  profile: boolean;
  /** A field that must be a text if it exists, and why the event is ignored otherwise. */
  id?: readonly [slot: number, reason: Reason];
}

/** Events that add a second id to a person. */
const aliasRule: EventRule = {
  needs: [[field.alias, warningBit.missing_alias, wanted.text]],
  may: [],
  profile: true,
  id: [field.alias, "invalid_alias"],
};

/** A kind that needs one property, a text. */
function needing(which: number, bit: number): EventRule {
  return { needs: [[firstTrait + which, bit, wanted.text]], may: [], profile: false };
}

const surveyRule = needing(trait.$survey_id, warningBit.missing_survey_id);

/** The rules of names that have one. */
export const rulesByName: Record<string, EventRule> = {
  $create_alias: aliasRule,
  $merge_dangerously: aliasRule,
  // SDKs send an $identify without $set, and a $groupidentify without $group_set, when their callers set no properties.
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
  $pageview: needing(trait.$current_url, warningBit.missing_current_url),
  $screen: needing(trait.$screen_name, warningBit.missing_screen_name),
  "survey sent": surveyRule,
  "survey shown": surveyRule,
  "survey dismissed": surveyRule,
};
const names = Object.keys(rulesByName);
const kinds = Object.values(rulesByName);
const slots = knownKeys(Object.fromEntries(names.map((name, i) => [name, i])));
const groupIdentify = names.indexOf("$groupidentify");

/**
 * Checks the event in `row`, whose entry is at `at`, for what its kind needs; sets warnings in row.warned.
 * @returns why it is ignored, or undefined.
 */
export function checkEventRule(index: Indexed, at: EntryOffset, row: Row): Reason | undefined {
  const traits = index.entries[at + field.traits]!;
  const profile = gradeIn(traits, trait.$process_person_profile);
  if (profile === grade.wrong) row.warned |= warningBit.invalid_process_person_profile;
  const { source, from, to } = row.event;
  const slot = toSlot(slots, source, from, to);
  if (slot === noSlot) return undefined;
  const kind = kinds[slot]!;
  if (kind.profile && profile === grade.empty) return "invalid_event_when_process_person_profile_is_false";
  if (kind.id && gradeAt(index, at, kind.id[0], wanted.text) === grade.wrong) return kind.id[1];
  for (const [slot, bit, what] of kind.needs) {
    if (gradeAt(index, at, slot, what) !== grade.sound) row.warned |= bit;
  }
  for (const [slot, bit, what] of kind.may) {
    if (gradeAt(index, at, slot, what) === grade.wrong) row.warned |= bit;
  }
  return slot === groupIdentify && groupKeyIsLong(index, at) ? "group_key_too_long" : undefined;
}

/** The grade of a trait of entry `at`, or of a field that must be of a kind. */
function gradeAt({ bytes, entries }: Indexed, at: EntryOffset, slot: number, what: number): number {
  if (slot >= firstTrait) return gradeIn(entries[at + field.traits]!, slot - firstTrait);
  const [from, to] = [entries[at + slot]!, entries[at + slot + 1]!];
  return to === 0 ? grade.absent : gradeValue(what, bytes[from]!, to - from);
}

function groupKeyIsLong({ bytes, entries }: Indexed, at: EntryOffset): boolean {
  const [from, to] = [entries[at + field.$group_key]!, entries[at + field.$group_key + 1]!];
  if (bytes[from] !== 0x22 || to - from - 2 <= limits.groupKeyCharsMax) return false;
  const text = JSON.parse(decodeText(bytes, from, to)) as string;
  return text.length > limits.groupKeyCharsMax;
}

/** Why an event that SDKs send for themselves is ignored; undefined for any other. */
export function notStored(name: ByteRange): Reason | undefined {
  if (name.source[name.from] !== 0x24) return undefined;
  if (sameName(name, "$performance_event")) return "performance_event";
  if (sameName(name, "$$heatmap")) return "heatmap";
  return sameName(name, "$$client_ingestion_warning") ? "client_ingestion_warning" : undefined;
}

/** Whether an event has this name, which is ASCII. */
export function sameName({ source, from, to }: ByteRange, name: string): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (source[from + i] !== name.charCodeAt(i)) return false;
  return true;
}
