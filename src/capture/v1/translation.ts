// Translates a v1 batch to a body for /batch: v1 members of an event, such as options, become properties. It works in
// slices on the index of the scan, and checks uuids, sizes and options only. The new body is scanned again, which costs
// 0.37 CPU-ms a MB of the request's 6: only the scan hashes the names of properties, and there are more of them now;
// without that hash an event's definitions are read one by one.

import type { Slices } from "../../core/clock.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { field, toOffset, toSlot } from "../fields/event_fields.ts";
import type { Reason } from "../fields/outcome.ts";
import { uuidFromText, uuidText } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import { type EventIndex, isHistorical } from "../scan/event_index.ts";
import { addedKeys, beside, besideKeys, isOpening, readAdded, trimRaw } from "./added_properties.ts";

/** Bytes written for each event beside its own: names above, and option properties with values. */
const writtenBytesMax = 512;

export interface TranslationOptions {
  key: string;
  /** Members added to the properties of every event, as JSON without braces; may be empty. */
  sdk: string;
}

export class Translation {
  /** The uuids as they were sent, by their usual spelling, in the order of the batch. */
  readonly uuids = new Map<string, string>();
  /** Reasons of refused events, by index in the batch; the new body has null instead. */
  readonly refused = new Map<number, Reason>();
  readonly #index: EventIndex;
  readonly #source: Buffer;
  readonly #sdk: string;
  readonly #out: Buffer;
  readonly #ranges = new Int32Array(10);
  readonly #members = new JsonCursor();
  readonly #uuid = new Uint8Array(16);
  #length = 0;
  /**
   * Whether an added name occurs in the slice's bytes. SDKs do not send them as properties, so it is nearly always
   * false.
   */
  #mayHave = true;

  /** `index`: of a v1 batch, through, and with all items in its index. `out`: of bytesMax() bytes. */
  constructor(index: EventIndex, { key, sdk }: TranslationOptions, out: Buffer) {
    const { bytes } = index;
    this.#index = index;
    this.#source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#sdk = sdk;
    this.#out = out;
    this.#put(`{"api_key":${JSON.stringify(key)},"historical_migration":${isHistorical(index)},"batch":[`);
  }

  /** Bytes that the new body may take. */
  static bytesMax(index: EventIndex, { key, sdk }: TranslationOptions): number {
    const perEvent = writtenBytesMax + Buffer.byteLength(sdk);
    return index.bytes.length + index.count * perEvent + key.length * 6 + writtenBytesMax;
  }

  /**
   * Writes the new body, in steps between which others get a turn.
   * @throws Fault missing_event_uuid, invalid_event_uuid, duplicate_event_uuid.
   */
  *write(): Slices<Buffer> {
    const { count } = this.#index;
    let [begun, searched] = [0, 0];
    for (let nth = 0; nth < count; nth++) {
      const [from, to] = this.#range(nth, field.item);
      if (to > searched || nth - begun >= captureLimits.slowSliceRowsMax) {
        if (nth > 0) yield;
        begun = nth;
        const end = Math.min(to, from + limits.eventBytesMax);
        searched = Math.max(end, from + captureLimits.slowSliceBytesMax);
        const slice = this.#source.subarray(from, searched);
        this.#mayHave = addedKeys.some((key) => slice.includes(key));
      }
      if (nth > 0) this.#out[this.#length++] = 0x2c;
      this.#readUuid(nth);
      const reason = to - from > limits.eventBytesMax ? "message_size_too_large" : this.#event(nth, from);
      if (reason === undefined) continue;
      this.refused.set(nth, reason);
      this.#put("null");
    }
    this.#put("]}");
    return this.#out.subarray(0, this.#length);
  }

  #range(nth: number, slot: number): readonly [from: number, to: number] {
    const { entries } = this.#index;
    const at = toOffset(nth) + slot;
    return [entries[at]!, entries[at + 1]!];
  }

  #readUuid(nth: number): void {
    const source = this.#source;
    const [from, to] = this.#range(nth, field.uuid);
    if (to === 0 || source[from] === 0x6e || (to - from === 2 && source[from] === 0x22))
      throw refusal("missing_event_uuid", `batch[${nth}] has no uuid`);
    if (source[from] !== 0x22 || !uuidFromText(source, from + 1, to - 1, this.#uuid))
      throw refusal("invalid_event_uuid", `The uuid of batch[${nth}] is not a UUID`);
    const uuid = uuidText(this.#uuid);
    if (this.uuids.has(uuid)) throw refusal("duplicate_event_uuid", `The uuid of batch[${nth}] occurs twice`);
    const isUsual = to - from === uuid.length + 2;
    this.uuids.set(uuid, isUsual ? source.toString("latin1", from + 1, to - 1) : uuid);
  }

  /** Writes an event; returns why it is refused, and then writes nothing. */
  #event(nth: number, item: number): Reason | undefined {
    const [properties, propertiesEnd] = this.#range(nth, field.properties);
    const begun = this.#length;
    this.#copyMembers(item, properties, propertiesEnd);
    const added = readAdded(this.#source, this.#ranges, this.#sdk);
    if (added === undefined) {
      this.#length = begun;
      return "invalid_options";
    }
    this.#put(',"properties":');
    this.#writeProperties(properties, propertiesEnd, added);
    this.#out[this.#length++] = 0x7d;
    return undefined;
  }

  /** Copies the opening brace and the members, but for the properties and those whose ranges are stored instead. */
  #copyMembers(item: number, properties: number, propertiesEnd: number): void {
    this.#ranges.fill(0);
    const members = this.#members.open(this.#source, item);
    let next = 0x7b;
    while (members.seek()) {
      const isProperties = members.value === properties;
      if (isProperties) members.jump(propertiesEnd);
      else members.skip();
      const { key, keyEnd, value, end } = members;
      const slot = toSlot(besideKeys, this.#source, key, keyEnd);
      if (slot === beside.distinct_id) next = this.#copyId(next, key - 1, value, end);
      else if (slot >= 0) this.#ranges.set([value, end], slot);
      else if (!isProperties) next = this.#copyMember(next, key - 1, end);
    }
  }

  /**
   * Writes the raw value at [from, to) with the added members behind; to = 0 and null count as an empty object, and a
   * value that is not an object is copied unchanged.
   */
  #writeProperties(from: number, to: number, added: string): void {
    const begun = this.#length;
    const first = to > 0 ? this.#source[from] : 0x6e;
    if (first === 0x6e) this.#out[this.#length++] = 0x7b;
    else if (first !== 0x7b) return this.#copy(from, to);
    else if (this.#mayHave) this.#copyOthers(from, added);
    else this.#copy(from, to - 1);
    if (added !== "" && !isOpening(this.#out, begun, this.#length)) this.#out[this.#length++] = 0x2c;
    this.#put(added);
    this.#out[this.#length++] = 0x7d;
  }

  /** Copies an object without its closing brace and without members that are added. */
  #copyOthers(from: number, added: string): void {
    const names = Object.keys(JSON.parse(`{${added}}`) as object);
    const members = this.#members.open(this.#source, from);
    let next = 0x7b;
    while (members.next()) {
      const { key, keyEnd, end } = members;
      if (names.includes(this.#source.toString("latin1", key, keyEnd))) continue;
      next = this.#copyMember(next, key - 1, end);
    }
    if (next === 0x7b) this.#out[this.#length++] = next;
  }

  /** Copies a member behind the bracket or comma `before`; returns what comes before a further one. */
  #copyMember(before: number, from: number, to: number): number {
    this.#out[this.#length++] = before;
    this.#copy(from, to);
    return 0x2c;
  }

  /** Copies a distinct id, at [value, end), without the blanks at its ends. */
  #copyId(before: number, key: number, value: number, end: number): number {
    const source = this.#source;
    if (source[value] !== 0x22) return this.#copyMember(before, key, end);
    const [from, to] = trimRaw(source, value + 1, end - 1);
    this.#copyMember(before, key, value + 1);
    this.#copy(from, to);
    this.#out[this.#length++] = 0x22;
    return 0x2c;
  }

  #copy(from: number, to: number): void {
    this.#length += this.#source.copy(this.#out, this.#length, from, to);
  }

  #put(text: string): void {
    this.#length += this.#out.write(text, this.#length);
  }
}

function refusal(code: FaultCode, problem: string): Fault {
  return new Fault(code, `${problem}: nothing of the batch is stored.`);
}
