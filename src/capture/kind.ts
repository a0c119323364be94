// What an event's kind needs: properties checked by what the scan noted of them. Never reads the properties
// of other events.

import { limits } from "../core/limits.ts";
import { field, grade, gradeIn, knownKeys, noSlot, slotOf, trait } from "./member.ts";
import { type Reason, warningBit } from "./outcome.ts";
import type { Row } from "./row.ts";
import type { Scan } from "./scan.ts";
import { Walk } from "./walk.ts";

interface Kind {
  /** Traits that must be sound, and the warning when one is not. */
  needs: readonly (readonly [which: number, bit: number])[];
  /** It speaks of a person or group, which `$process_person_profile: false` forbids. */
  profile: boolean;
  /** A trait that must be a text if it is there, and why the event is not taken otherwise. */
  id?: readonly [which: number, reason: Reason];
}

const kindsByName: Record<string, Kind> = {
  $create_alias: {
    needs: [[trait.alias, warningBit.missing_alias]],
    profile: true,
    id: [trait.alias, "invalid_alias"],
  },
  $merge_dangerously: {
    needs: [[trait.alias, warningBit.missing_alias]],
    profile: true,
    id: [trait.alias, "invalid_alias"],
  },
  $identify: { needs: [], profile: true, id: [trait.$anon_distinct_id, "invalid_anon_distinct_id"] },
  $groupidentify: {
    needs: [
      [trait.$group_type, warningBit.missing_group_type],
      [trait.$group_key, warningBit.missing_group_key],
      [trait.$group_set, warningBit.invalid_group_set],
    ],
    profile: true,
  },
  $pageview: { needs: [[trait.$current_url, warningBit.missing_current_url]], profile: false },
  $screen: { needs: [[trait.$screen_name, warningBit.missing_screen_name]], profile: false },
  "survey sent": { needs: [[trait.$survey_id, warningBit.missing_survey_id]], profile: false },
  "survey shown": { needs: [[trait.$survey_id, warningBit.missing_survey_id]], profile: false },
  "survey dismissed": { needs: [[trait.$survey_id, warningBit.missing_survey_id]], profile: false },
};
const names = Object.keys(kindsByName);
const kinds = Object.values(kindsByName);
const slots = knownKeys(Object.fromEntries(names.map((name, i) => [name, i])));
const identify = names.indexOf("$identify");
const groupIdentify = names.indexOf("$groupidentify");

/**
 * Checks the event in `row`, whose entry is at `at`, for what its kind needs; notes warnings in row.warned.
 * @returns why it is not taken, or undefined.
 */
export function checkKind(scan: Scan, at: number, row: Row): Reason | undefined {
  const traits = scan.entries[at + field.traits]!;
  const profile = gradeIn(traits, trait.$process_person_profile);
  if (profile === grade.wrong) row.warned |= warningBit.invalid_process_person_profile;
  const { source, from, to } = row.event;
  const slot = slotOf(slots, source, from, to);
  if (slot === noSlot) return undefined;
  const kind = kinds[slot]!;
  if (kind.profile && profile === grade.empty) return "invalid_event_when_process_person_profile_is_false";
  if (kind.id && gradeIn(traits, kind.id[0]) === grade.wrong) return kind.id[1];
  for (const [which, bit] of kind.needs) if (gradeIn(traits, which) !== grade.sound) row.warned |= bit;
  if (slot === identify && !setsSomething(traits)) row.warned |= warningBit.missing_set;
  return slot === groupIdentify && groupKeyIsLong(scan, at) ? "group_key_too_long" : undefined;
}

/** An identify call connects ids, or sets person properties, here or beside its `properties`. */
function setsSomething(traits: number): boolean {
  return (
    gradeIn(traits, trait.$set) === grade.sound ||
    gradeIn(traits, trait.own_set) === grade.sound ||
    gradeIn(traits, trait.$anon_distinct_id) === grade.sound
  );
}

const groupKey = knownKeys({ $group_key: 0 });

function groupKeyIsLong({ bytes, entries }: Scan, at: number): boolean {
  const [from, to] = [entries[at + field.properties]!, entries[at + field.properties + 1]!];
  if (to - from <= limits.groupKeyCharsMax || bytes[from] !== 0x7b) return false;
  const walk = new Walk(bytes);
  walk.at = from + 1;
  let long = false;
  do {
    walk.key();
    const found = walk.escapes === 0 && slotOf(groupKey, bytes, walk.keyFrom, walk.keyTo) === 0;
    walk.peek();
    const start = walk.at;
    walk.skip(0);
    if (found) long = textIsLonger(bytes, start, walk.at, limits.groupKeyCharsMax);
  } while (walk.more(0x7d));
  return long;
}

function textIsLonger(bytes: Uint8Array, from: number, to: number, charsMax: number): boolean {
  if (bytes[from] !== 0x22 || to - from - 2 <= charsMax) return false;
  return (JSON.parse(new TextDecoder().decode(bytes.subarray(from, to))) as string).length > charsMax;
}
