// Whose event it is: the person mode, what it changes of its person, the groups it belongs to. Never asks a store.

import { captureLimits } from "../limits.ts";
import { eventLimits } from "./limits.ts";
import { isIllegalId } from "../../persons/identity.ts";
import { mergeKind } from "../../persons/merge.ts";
import { type EventChanges, op } from "./changes.ts";
import type { GroupTypes } from "./groups.ts";
import { sameName } from "./event_rules.ts";
import { field, grade, gradeIn, trait } from "../scan/event_fields.ts";
import { warningBit } from "./outcome.ts";
import { Members } from "../../core/json/json_skipper.ts";
import { readKey, readString } from "../scan/json_value.ts";
import { type Row, personMode } from "./row.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { cutText, sameBytes, rangeText } from "../scan/byte_range.ts";

/** Fills the row's person_mode, changes and groups from entry `at`. */
export function readEventIdentity(
  index: EventIndex,
  at: number,
  types: GroupTypes | undefined,
  row: Row,
): void {
  const { entries } = index;
  const { changes, groups } = row;
  changes.clear();
  groups.clear();
  row.merge = mergeKind.none;
  const profile = gradeIn(entries[at + field.traits]!, trait.$process_person_profile);
  row.person_mode = profile === grade.empty ? personMode.personless : personMode.full;
  if (entries[at + field.identity] === 0) return;
  readGroups(index, at, row, sameName(row.event, "$groupidentify"), types);
  const plain = row.person_mode !== personMode.personless && !sameName(row.event, "$exception");
  if (plain) readChanges(index, at, changes);
  if (groups.identified) {
    row.person_mode = personMode.group;
    const set = entries[at + field.$group_set]!;
    if (entries[at + field.$group_set + 1]! > 0 && index.bytes[set] === 0x7b) changes.object(set, op.group);
  }
  if (row.person_mode !== personMode.personless) readMerge(index, at, row);
  if (changes.cut) row.warned |= warningBit.person_properties_size_violation;
  if (groups.cut) row.warned |= warningBit.group_types_limit_exceeded;
  if (groups.barred) row.warned |= warningBit.group_type_not_allowed;
}

/** What is noted of entry `at` into `changes`; the event's own members win over those in its properties. */
function readChanges(index: EventIndex, at: number, changes: EventChanges): void {
  const { entries } = index;
  changes.begin(index.bytes);
  const object = (place: number, what: number): void => {
    if (entries[at + place + 1]! > 0 && index.bytes[entries[at + place]!] === 0x7b)
      changes.object(entries[at + place]!, what);
  };
  object(field.$set_once, op.once);
  object(field.own_set_once, op.once);
  object(field.$set, op.set);
  object(field.own_set, op.set);
  for (const place of unsets) {
    object(place, op.unset);
    const isList = entries[at + place + 1]! > 0 && index.bytes[entries[at + place]!] === 0x5b;
    if (isList) changes.list(entries[at + place]!);
  }
}

const unsets = [field.$unset, field.own_unset];

/** Reads entry `at`'s groups into row.groups. `identifies`: it is a `$groupidentify` event. */
function readGroups(
  index: EventIndex,
  at: number,
  row: Row,
  identifies: boolean,
  types: GroupTypes | undefined,
): void {
  const { bytes, entries } = index;
  const { groups } = row;
  if (identifies && entries[at + field.$group_type + 1]! > 0) {
    if (readKey(bytes, entries[at + field.$group_type]!, groups.types[0]!, false)) {
      const from = entries[at + field.$group_key]!;
      if (entries[at + field.$group_key + 1]! > 0 && readKey(bytes, from, groups.keys[0]!, true)) {
        if (types && !types.admit(row.project_id, groups.types[0]!)) {
          groups.refuse(row.project_id, groups.types[0]!, types);
        } else {
          groups.identified = true;
          groups.count = 1;
        }
      }
    }
  }
  const from = entries[at + field.$groups]!;
  if (entries[at + field.$groups + 1]! > 0 && bytes[from] === 0x7b) readAttached(bytes, from, row, types);
}

function readAttached(bytes: Uint8Array, from: number, row: Row, types: GroupTypes | undefined): void {
  const { groups } = row;
  const attached = members.open(bytes, from);
  for (let left: number = eventLimits.groupMembersMax; left > 0 && attached.next(); left--) {
    const place = groups.count;
    const typed = readKey(bytes, attached.key - 1, groups.types[place]!, false);
    if (typed && readKey(bytes, attached.value, groups.keys[place]!, true)) {
      if (types && !types.admit(row.project_id, groups.types[place]!)) {
        groups.refuse(row.project_id, groups.types[place]!, types);
      } else groups.keep();
    }
  }
}

/** Opened anew for every event with groups. */
const members = new Members(new Uint8Array(0), 0);

/** Ids are merged as they are stored: cut to the same length. */
function readMerge(index: EventIndex, at: number, row: Row): void {
  const identifies = sameName(row.event, "$identify");
  const dangerous = sameName(row.event, "$merge_dangerously");
  if (!identifies && !dangerous && !sameName(row.event, "$create_alias")) return;
  const place = identifies ? field.$anon_distinct_id : field.alias;
  const [from, to] = [index.entries[at + place]!, index.entries[at + place + 1]!];
  if (to === 0 || !readString(index.bytes, from, to, row.other_id)) return;
  cutText(row.other_id, captureLimits.distinctIdCharsMax);
  if (sameBytes(row.other_id, row.distinct_id)) return;
  if (isIllegalId(rangeText(row.other_id)) || isIllegalId(rangeText(row.distinct_id))) {
    row.warned |= warningBit.cannot_merge_with_illegal_distinct_id;
  } else if (identifies) row.merge = mergeKind.identify;
  else row.merge = dangerous ? mergeKind.dangerous : mergeKind.alias;
}
