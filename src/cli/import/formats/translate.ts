// What the mappings of other systems' exports share: from what they read to the text of a batch item. Never
// changes a value: all of them are moved as they were written.

import { type Members, saysSomething, writeMembers } from "../reading/members.ts";
import { noTime, timeFlaw } from "./plain.ts";
import { type RecordFate, rejected, type Translated } from "./record.ts";
import { type Moment, parseMoment } from "./timestamp.ts";

/**
 * The text of a batch item. Without a distinct id it goes all the same: the server counts why it takes no
 * such event.
 */
export function itemOf(translated: Translated): RecordFate {
  const { uuid, event, distinct_id, timestamp, properties } = translated;
  const head = `{"uuid":"${uuid}","event":${JSON.stringify(event)}`;
  const id = distinct_id === undefined ? "" : `,"distinct_id":${JSON.stringify(distinct_id)}`;
  const rest = `,"timestamp":${JSON.stringify(timestamp)},"properties":${writeMembers(properties)}}`;
  return { is: "made", text: head + id + rest };
}

/** The first of these that can be read and lies in the past; otherwise why the record cannot be imported. */
export function translatedMoment(values: readonly unknown[], nowMs: number): Moment | RecordFate {
  let unreadable: unknown;
  for (const value of values) {
    const moment = parseMoment(value);
    const flaw = moment && timeFlaw(moment.ms, nowMs);
    if (moment !== undefined) return flaw === undefined ? moment : rejected(flaw);
    unreadable ??= value;
  }
  return rejected(noTime(unreadable));
}

/** Sets `to` to a value that says something, unless the record has it already. */
export function putMember(properties: Members, to: string, raw: string | undefined): void {
  if (saysSomething(raw) && !properties.has(to)) properties.set(to, raw);
}

/** Moves members to other names; a name that is taken keeps its value. */
export function rename(properties: Members, names: Readonly<Record<string, string>>): void {
  for (const [from, to] of Object.entries(names)) {
    const raw = properties.get(from);
    if (raw === undefined) continue;
    properties.delete(from);
    putMember(properties, to, raw);
  }
}
