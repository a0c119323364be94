// Whose event it is: the person mode, the changes of its person, the groups it belongs to.

import { JsonCursor, pastValue } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { isIllegalId } from "../../persons/identity.ts";
import { mergeKind } from "../../persons/merge.ts";
import { changeKind, type EventChanges, type GroupTypes } from "../fields/changes.ts";
import { type EntryOffset, field, grade, gradeIn, trait } from "../fields/event_fields.ts";
import { sameName } from "../fields/event_rules.ts";
import { warningBit } from "../fields/outcome.ts";
import { type ByteRange, cutText, rangeText, readString, sameBytes, setBytes } from "../fields/raw_value.ts";
import { personMode, type Row } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import type { EventIndex } from "../scan/event_index.ts";

/** Fills the row's person_mode, changes and groups from entry `at`. */
export function readEventIdentity(
  index: EventIndex,
  at: EntryOffset,
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
  changes.begin(index.bytes);
  const identifies = sameName(row.event, "$groupidentify");
  readGroups(index, at, row, identifies, types);
  const isImpersonal = identifies || sameName(row.event, "$exception");
  if (row.person_mode !== personMode.personless && !isImpersonal) readChanges(index, at, changes);
  if (groups.identified) {
    row.person_mode = personMode.group;
    const set = entries[at + field.$group_set]!;
    if (entries[at + field.$group_set + 1]! > 0 && index.bytes[set] === 0x7b)
      changes.object(set, changeKind.group);
  }
  if (row.person_mode !== personMode.personless) readMerge(index, at, row);
  if (changes.cut) row.warned |= warningBit.person_properties_size_violation;
  if (groups.cut) row.warned |= warningBit.group_types_limit_exceeded;
  if (groups.barred) row.warned |= warningBit.group_type_not_allowed;
}

/** Reads the changes of entry `at`; the event's own members win over those in its properties. */
function readChanges(index: EventIndex, at: EntryOffset, changes: EventChanges): void {
  const { entries } = index;
  const object = (slot: number, what: number): void => {
    if (entries[at + slot + 1]! > 0 && index.bytes[entries[at + slot]!] === 0x7b)
      changes.object(entries[at + slot]!, what);
  };
  object(field.$set_once, changeKind.once);
  object(field.own_set_once, changeKind.once);
  object(field.$set, changeKind.set);
  object(field.own_set, changeKind.set);
  for (const slot of unsets) {
    object(slot, changeKind.unset);
    const isList = entries[at + slot + 1]! > 0 && index.bytes[entries[at + slot]!] === 0x5b;
    if (isList) changes.list(entries[at + slot]!);
  }
}

const unsets = [field.$unset, field.own_unset];

/** Reads entry `at`'s groups into row.groups. `identifies`: it is a `$groupidentify` event. */
function readGroups(
  index: EventIndex,
  at: EntryOffset,
  row: Row,
  identifies: boolean,
  types: GroupTypes | undefined,
): void {
  const { bytes, entries } = index;
  const { groups } = row;
  const named = identifies && entries[at + field.$group_type + 1]! > 0;
  const keyed = named && entries[at + field.$group_key + 1]! > 0;
  const [type, key] = [entries[at + field.$group_type]!, entries[at + field.$group_key]!];
  if (keyed && readGroup(bytes, type, key, row, types)) {
    groups.identified = true;
    groups.count = 1;
  }
  const from = entries[at + field.$groups]!;
  if (entries[at + field.$groups + 1]! > 0 && bytes[from] === 0x7b) readAttached(bytes, from, row, types);
}

function readAttached(bytes: Uint8Array, from: number, row: Row, types: GroupTypes | undefined): void {
  const { groups } = row;
  const attached = members.open(bytes, from);
  for (let left: number = captureLimits.groupMembersMax; left > 0 && attached.next(); left--) {
    if (readGroup(bytes, attached.key - 1, attached.value, row, types)) groups.commit();
  }
}

/** Adds a group to those of the row; false when it is none, or its type is refused. */
function readGroup(
  bytes: Uint8Array,
  type: number,
  key: number,
  { groups, project_id }: Row,
  types: GroupTypes | undefined,
): boolean {
  const [ownType, ownKey] = [groups.types[groups.count]!, groups.keys[groups.count]!];
  if (!readKey(bytes, type, ownType, false) || !readKey(bytes, key, ownKey, true)) return false;
  if (!types || types.admit(project_id, ownType)) return true;
  groups.refuse(project_id, ownType, types);
  return false;
}

/** A text, or where allowed a number, that may name a group or its type; false when it cannot. */
function readKey(bytes: Uint8Array, from: number, out: ByteRange, mayBeNumber: boolean): boolean {
  const to = pastValue(bytes, from);
  if (to - from > 4 * limits.groupKeyCharsMax) return false;
  if (bytes[from] === 0x22) return readString(bytes, from, to, out);
  const number = bytes[from] === 0x2d || (bytes[from]! >= 0x30 && bytes[from]! <= 0x39);
  if (!number || !mayBeNumber) return false;
  setBytes(out, bytes, from, to);
  return true;
}

/** Opened anew for every event with groups. */
const members = new JsonCursor();

/** Ids are cut to the length at which they are stored. */
function readMerge(index: EventIndex, at: EntryOffset, row: Row): void {
  const identifies = sameName(row.event, "$identify");
  const dangerous = sameName(row.event, "$merge_dangerously");
  if (!identifies && !dangerous && !sameName(row.event, "$create_alias")) return;
  const slot = identifies ? field.$anon_distinct_id : field.alias;
  const [from, to] = [index.entries[at + slot]!, index.entries[at + slot + 1]!];
  if (to === 0 || !readString(index.bytes, from, to, row.other_id)) return;
  if (cutText(row.other_id, captureLimits.distinctIdCharsMax)) row.warned |= warningBit.distinct_id_truncated;
  if (sameBytes(row.other_id, row.distinct_id)) return;
  if (isIllegalId(rangeText(row.other_id)) || isIllegalId(rangeText(row.distinct_id))) {
    row.warned |= warningBit.cannot_merge_with_illegal_distinct_id;
  } else if (identifies) row.merge = mergeKind.identify;
  else row.merge = dangerous ? mergeKind.dangerous : mergeKind.alias;
}
