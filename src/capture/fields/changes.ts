// The changes that an event makes to its person and groups: $set, $set_once, $unset and $group_set as keys, kinds and
// raw texts; the groups it belongs to, and the one whose properties it sets. The objects are reused for every event.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import type { KnownGroupTypes } from "../../persons/group_types.ts";
import { ByteColumn, Dictionary } from "../../storage/native/native.ts";
import { captureLimits } from "../limits.ts";
import { appendText, type ByteRange, emptyRange, sameBytes } from "./raw_value.ts";

/** The kinds of changes of a key. The numbers are stored in event_rows.pw. */
export const changeKind = { set: 0, once: 1, unset: 2, group: 3 } as const;

const noBytes: Uint8Array = new Uint8Array(0);
/** Keyed by op: a set and an unset of one key are one change, the later. */
const kindOf = [0, 1, 0, 2];
const kinds = 3;

/** The changes of one event, each key and kind once; reused for every event. */
export class EventChanges {
  count = 0;
  /** True when changes were omitted, because there are too many or they are too long. */
  cut = false;
  readonly ops = new Uint8Array(captureLimits.changesMax);
  /** The bytes that a key and a value lie in, and where. */
  readonly keyFrom = new Int32Array(captureLimits.changesMax);
  readonly keyTo = new Int32Array(captureLimits.changesMax);
  readonly valueFrom = new Int32Array(captureLimits.changesMax);
  readonly valueTo = new Int32Array(captureLimits.changesMax);
  source = noBytes;
  /** 1 where a key was written with escapes: it then lies in `texts`. */
  readonly unescaped = new Uint8Array(captureLimits.changesMax);
  readonly texts = new ByteColumn(256);
  #bytes = 0;
  readonly #members = new JsonCursor();
  readonly #keys = new Dictionary();
  /** The number of the change that a key and kind have; -1 for none. */
  readonly #numbers = new Int16Array(captureLimits.changesMax * kinds).fill(-1);

  clear(): void {
    this.count = 0;
    this.cut = false;
  }

  begin(source: Uint8Array): void {
    this.source = source;
    this.clear();
    this.#bytes = 0;
    this.texts.length = 0;
    this.#numbers.fill(-1, 0, this.#keys.count * kinds);
    this.#keys.clear();
  }

  keySource(at: number): Uint8Array {
    return this.unescaped[at] === 1 ? this.texts.bytes : this.source;
  }

  /** Adds every member of the object at `at`. */
  object(at: number, what: number): void {
    const members = this.#members.open(this.source, at);
    while (members.next()) {
      const { key, keyEnd, value, end } = members;
      if (what === changeKind.unset) this.#add(what, key - 1, keyEnd + 1, 0, 0);
      else this.#add(what, key - 1, keyEnd + 1, value, end);
    }
  }

  /** Adds every text of the list at `at`; other items are skipped. */
  list(at: number): void {
    const items = this.#members.open(this.source, at);
    while (items.next())
      if (this.source[items.value] === 0x22) this.#add(changeKind.unset, items.value, items.end, 0, 0);
  }

  /** `from` and `to` of the key include its quotes. The later of two changes of one key counts. */
  #add(what: number, from: number, to: number, valueFrom: number, valueTo: number): void {
    const { count } = this;
    this.#bytes += to - from + valueTo - valueFrom;
    const tooBig =
      to - from - 2 > captureLimits.changeKeyBytesMax || this.#bytes > captureLimits.changesBytesMax;
    if (tooBig || count === captureLimits.changesMax) {
      this.cut = true;
      return;
    }
    this.#readKey(count, from, to);
    const key = this.#keys.find(this.keySource(count), this.keyFrom[count]!, this.keyTo[count]!);
    const known = this.#numbers[key * kinds + kindOf[what]!]!;
    const number = known < 0 ? this.count++ : known;
    this.#numbers[key * kinds + kindOf[what]!] = number;
    this.ops[number] = what;
    this.valueFrom[number] = valueFrom;
    this.valueTo[number] = valueTo;
  }

  #readKey(at: number, from: number, to: number): void {
    this.unescaped[at] = 0;
    this.keyFrom[at] = from + 1;
    this.keyTo[at] = to - 1;
    for (let i = from + 1; i < to - 1; i++) {
      if (this.source[i] !== 0x5c) continue;
      this.unescaped[at] = 1;
      this.keyFrom[at] = this.texts.length;
      appendText(this.source, from + 1, to - 1, this.texts);
      this.keyTo[at] = this.texts.length;
      return;
    }
  }
}

/** Types of groups that a project may have. */
export type GroupTypes = Pick<KnownGroupTypes, "admit" | "isForbidden" | "assigned">;

/** An event's groups, each type once; reused for every event. */
export class EventGroups {
  count = 0;
  /** True when the first is the group whose properties the event sets. */
  identified = false;
  /** True when a type was omitted because all indexes are assigned. */
  cut = false;
  /** True when a type was omitted that the project does not allow. */
  barred = false;
  readonly types: ByteRange[] = Array.from({ length: limits.groupTypesMax + 1 }, emptyRange);
  readonly keys: ByteRange[] = Array.from({ length: limits.groupTypesMax + 1 }, emptyRange);

  clear(): void {
    this.count = 0;
    this.identified = false;
    this.cut = false;
    this.barred = false;
  }

  /** Omits the group of this type. */
  refuse(project_id: number, type: ByteRange, types: GroupTypes): void {
    if (types.isForbidden(project_id, type)) this.barred = true;
    else this.cut = true;
  }

  /** Keeps the group at `count`; the later of two of one type counts, unless the first is identified. */
  commit(): void {
    const type = this.types[this.count]!;
    for (let at = 0; at < this.count; at++) {
      if (!sameBytes(this.types[at]!, type)) continue;
      if (at > 0 || !this.identified) Object.assign(this.keys[at]!, this.keys[this.count]);
      return;
    }
    if (this.count < limits.groupTypesMax) this.count++;
    else this.cut = true;
  }
}
