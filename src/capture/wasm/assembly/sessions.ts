// Sessions of events: of each block of the journal, the events of one session and distinct id become one row, folded by
// least and greatest as src/storage/events/sessions.ts does in SQL. An event of which the engine's reader might see
// something else than is read here is named as unread, and left to the engine.

import { byte } from "./json";
import * as Row from "./session_row";
import { Fold, clear, mixed, replace, rowOf, writeEntry } from "./session_rows";
import { Seen, namesSession, readProperties, valueAt, valueLength } from "./session_values";

/**
 * The open block, which session_fold.ts sets: its rows, which one is next, and where its columns lie; those of texts at
 * the next row. `kinds` has a byte for each of the names of its events.
 */
export let rows: u32 = 0;
export let row: u32 = 0;
export let uuids: u32 = 0;
export let projects: u32 = 0;
export let kinds: u32 = 0;
export let indexes: u32 = 0;
export let indexBytes: u32 = 0;
export let timestamps: u32 = 0;
export let ids: u32 = 0;
export let properties: u32 = 0;
export let arrivals: u32 = 0;

/** Whether the last event named a session. */
let expectsSession: bool = true;
/** Events of the open block that the last fold() listed as unread. */
export let unread: u32 = 0;
/** Events that the last fold() listed as strays, at FOLD_STRAYS. */
export let strays: u32 = 0;

/** The number from `from` to `to`, rounded as JSON's readers do. */
@external("env", "numberOf")
declare function numberOf(from: u32, to: u32): f64;

/** Empties the fold. Nobody knows `secret`, so that nobody sends sessions that all fall into one slot. */
export function begin(secret: u64): void {
  Fold.seed = secret;
  clear();
}

/** The address after a text's length, which is left in `length`. */
let length: u32 = 0;
@inline
function pastLength(from: u32): u32 {
  let at = from;
  let shift: u32 = 0;
  length = 0;
  for (;;) {
    const c = <u32>byte(at++);
    length |= (c & 127) << shift;
    if (c < 128) return at;
    shift += 7;
  }
  return at;
}

/** Lists an event at one of the lists of events, with a second text: its properties, or its session. */
function list(event: u32, id: u32, idSize: u32, text: u32, size: u32): void {
  store<u32>(event, row);
  store<u32>(event, id, 4);
  store<u32>(event, idSize, 8);
  store<u32>(event, text, 12);
  store<u32>(event, size, 16);
}

/** How far src/storage/events/sessions.ts moves an event's moment; lists a stray that is worth a warning. */
@inline
function rankMoment(moment: i64, micros: i64, came: i64, id: u32, idSize: u32): i64 {
  const isNear = abs(micros - came) <= SESSION_DAY;
  if (moment < 0) return isNear ? 0 : 2 * SESSION_RANK;
  if (micros >= moment - SESSION_SLACK && micros <= moment + SESSION_DAY) return 0;
  // If the id's moment is none of its arrival, the client's clock is wrong, and its events are no strays.
  const isTimely = came >= moment - SESSION_SLACK && came <= moment + SESSION_DAY;
  if ((isTimely || !isNear) && strays < FOLD_STRAYS_MAX)
    list(FOLD_STRAYS + strays++ * FOLD_UNREAD_BYTES, id, idSize, valueAt(0), valueLength(0));
  return isNear ? SESSION_RANK : 2 * SESSION_RANK;
}

/** Folds the event whose values are recorded; false when it must stay unread. */
@inline
function foldEvent(id: u32, idSize: u32): bool {
  const at = rowOf(load<u32>(projects + (row << 2)), valueAt(0), valueLength(0), id, idSize);
  if (at == 0) return false;
  const micros = load<i64>(timestamps + (row << 3));
  const came = load<i64>(arrivals + (row << 3));
  const rank = rankMoment(load<i64>(at, Row.idMoment), micros, came, id, idSize);
  const first = micros + rank;
  const latest = micros - rank;
  if (first < load<i64>(at, Row.start)) store<i64>(at, first, Row.start);
  if (latest > load<i64>(at, Row.last)) store<i64>(at, latest, Row.last);
  if (came > load<i64>(at, Row.arrived)) store<i64>(at, came, Row.arrived);
  if (came < load<i64>(at, Row.created)) store<i64>(at, came, Row.created);
  const hasAddress = valueLength(1) != 0;
  const entered = hasAddress ? first : first + 4 * SESSION_RANK;
  if (load<u32>(at + Row.entry, Row.textLength) == 0 || entered <= load<i64>(at + Row.entry)) {
    const size = writeEntry();
    if (size > 2) replace(at + Row.entry, entered, Fold.textsEnd, size, true);
  }
  if (hasAddress) replace(at + Row.exit, latest, valueAt(1), valueLength(1), false);
  if (valueLength(4) != 0) replace(at + Row.click, latest, valueAt(4), valueLength(4), false);
  if (valueLength(FOLD_LCP) != 0) {
    const value = numberOf(valueAt(FOLD_LCP), valueAt(FOLD_LCP) + valueLength(FOLD_LCP));
    const bits = bswap(reinterpret<u64>(value));
    const isFirst = load<u32>(at, Row.hasLcp) == 0;
    const moment = load<i64>(at, Row.lcpAt);
    if (value > 0 && (isFirst || first < moment || (first == moment && bits > load<u64>(at, Row.lcp)))) {
      store<u32>(at, 1, Row.hasLcp);
      store<i64>(at, first, Row.lcpAt);
      store<u64>(at, bits, Row.lcp);
    }
  }
  const uuid = uuids + (row << 4);
  const hash = <u32>mixed(mixed(load<u64>(uuid) ^ load<u64>(uuid, 8)));
  let index: u32;
  if (indexBytes == 1) index = <u32>load<u8>(indexes + row);
  else if (indexBytes == 2) index = <u32>load<u16>(indexes + (row << 1));
  else index = load<u32>(indexes + (row << 2));
  store<u32>(FOLD_EVENTS + (Fold.eventCount << 3), (at - FOLD_ROWS) / FOLD_ROW_BYTES);
  store<u32>(FOLD_EVENTS + (Fold.eventCount << 3), (hash & 0xfffffffc) | <u32>byte(kinds + index), 4);
  Fold.eventCount++;
  store<u32>(at, load<u32>(at, Row.events) + 1, Row.events);
  return true;
}

/**
 * Folds the rest of the open block.
 * @returns 1 when it is through; 0 when the fold is full, or the list of unread events at FOLD_UNREAD: call write(),
 *   and it again.
 */
export function fold(): u32 {
  unread = 0;
  strays = 0;
  for (; row < rows; row++) {
    const id = pastLength(ids);
    const idSize = length;
    const text = pastLength(properties);
    const size = length;
    // The most that an event adds: its entry, exit and click, each with some bytes more, and its key.
    const most = size * 2 + idSize + 1024;
    const isTooLong = most > FOLD_TEXTS_BYTES;
    if (
      Fold.rowCount == FOLD_ROWS_MAX ||
      Fold.eventCount == FOLD_EVENTS_MAX ||
      unread == FOLD_UNREAD_MAX ||
      (!isTooLong && most > FOLD_TEXTS + FOLD_TEXTS_BYTES - Fold.textsEnd)
    ) {
      return 0;
    }
    ids = id + idSize;
    properties = text + size;
    // If the last event had no session, this one is searched for it first, which costs less than reading it.
    if (!expectsSession && !namesSession(text, text + size)) continue;
    if (isTooLong) Seen.isOdd = true;
    else readProperties(text, text + size);
    const hasSession = !Seen.isOdd && valueLength(0) != 0;
    if (!hasSession && expectsSession && !namesSession(text, text + size)) {
      expectsSession = false;
      continue;
    }
    expectsSession = true;
    if (hasSession && (valueLength(0) > FOLD_SESSION_BYTES_MAX || foldEvent(id, idSize))) continue;
    list(FOLD_UNREAD + unread++ * FOLD_UNREAD_BYTES, id, idSize, text, size);
  }
  return 1;
}

/** Rows that are folded. */
export function foldedCount(): u32 {
  return Fold.rowCount;
}

/**
 * Writes the values of all columns at FOLD_OUT, one after the other, and where each ends at FOLD_COLUMN_ENDS; then
 * empties the fold. @returns how many rows.
 */
export function write(): u32 {
  const count = Fold.rowCount;
  let out: u32 = FOLD_OUT;
  for (let column: u32 = 0; column < FOLD_COLUMNS - 1; column++) {
    for (let i: u32 = 0; i < count; i++) out = Row.writeValue(column, out, FOLD_ROWS + i * FOLD_ROW_BYTES);
    store<u32>(FOLD_COLUMN_ENDS + (column << 2), out);
  }
  // A list's end for each row; then all items. Where a row's number was, its next item's index is written.
  let items: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = FOLD_ROWS + i * FOLD_ROW_BYTES;
    const before = items;
    items += load<u32>(at, Row.events);
    store<u64>(out + (i << 3), <u64>items);
    store<u32>(at, before, Row.events);
  }
  out += count << 3;
  for (let i: u32 = 0; i < Fold.eventCount; i++) {
    const at = FOLD_ROWS + load<u32>(FOLD_EVENTS + (i << 3)) * FOLD_ROW_BYTES;
    const item = load<u32>(at, Row.events);
    store<u32>(out + (item << 2), load<u32>(FOLD_EVENTS + (i << 3), 4));
    store<u32>(at, item + 1, Row.events);
  }
  store<u32>(FOLD_COLUMN_ENDS + ((FOLD_COLUMNS - 1) << 2), out + (items << 2));
  clear();
  return count;
}
