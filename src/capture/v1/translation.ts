// Translates a v1 batch to a body for /batch: v1 members of an event, such as options, become properties. It works in
// slices on the index of the scan, and checks uuids, sizes and options only. The new body is scanned again, which costs
// 0.37 CPU-ms a MB of the request's 6: only the scan hashes the names of properties, and there are more of them now;
// without that hash an event's definitions are read one by one.

import { bytesOf } from "../../core/bytes.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import type { Reason } from "../event/outcome.ts";
import { uuidFromText, uuidText } from "../event/row.ts";
import { captureLimits } from "../limits.ts";
import { type EntryOffset, field, type Indexed, knownKeys, offsetOf, slotOf } from "../scan/event_fields.ts";
import { type EventIndex, isHistorical } from "../scan/event_index.ts";
import { type OptionProperty, readOptions, Splice } from "./splice.ts";

/** Members of an event that are left out, with their slots in #ranges: the first three become properties. */
const beside = { session_id: 0, window_id: 2, options: 4, offset: 6 } as const;
const besideKeys = knownKeys(beside);
const texts = ["session_id", "window_id"] as const;

const propertiesText = bytesOf(',"properties":');
const nothing = bytesOf("null");

/** Bytes written for each event beside its own: the names above, and option properties with values. */
const writtenBytesMax = 512;

export interface TranslationOptions {
  key: string;
  /** Members appended to the properties of every event, as JSON without braces; may be empty. */
  sdk: string;
}

export class Translation {
  /** The uuids as they were sent, 36 bytes each, in the order of the batch. */
  readonly uuids: Uint8Array;
  /** Reasons of refused events, by index in the batch; the new body has null instead. */
  readonly refused = new Map<number, Reason>();
  readonly #index: EventIndex;
  readonly #source: Buffer;
  readonly #out: Buffer;
  readonly #splice: Splice;
  readonly #seen = new Set<string>();
  readonly #ranges = new Int32Array(8);
  readonly #members = new JsonCursor();
  readonly #uuid = new Uint8Array(16);
  #length = 0;
  #next = 0;

  /** `index`: of a v1 batch, through, and with all items in its index. `out`: of bytesMax() bytes. */
  constructor(index: EventIndex, { key, sdk }: TranslationOptions, out: Buffer) {
    const { bytes } = index;
    this.#index = index;
    this.#source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#out = out;
    this.uuids = new Uint8Array(index.count * uuidChars);
    this.#splice = new Splice(this.#source, sdk);
    const historical = isHistorical(index);
    this.#put(bytesOf(`{"api_key":${JSON.stringify(key)},"historical_migration":${historical},"batch":[`));
  }

  /** Bytes that the new body may take. */
  static bytesMax(index: EventIndex, { key, sdk }: TranslationOptions): number {
    const perEvent = writtenBytesMax + Buffer.byteLength(sdk);
    return index.bytes.length + index.count * perEvent + key.length * 6 + writtenBytesMax;
  }

  /** The new body, once advance() has returned true. */
  get body(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  /**
   * Translates a slice; true when the batch is complete.
   * @throws Fault missing_event_uuid, invalid_event_uuid, duplicate_event_uuid.
   */
  advance(): boolean {
    const { bytes, entries, count } = this.#index;
    const last = this.#sliceEnd();
    for (; this.#next < last; this.#next++) {
      const at = offsetOf(this.#next);
      if (this.#next > 0) this.#out[this.#length++] = 0x2c;
      this.#readUuid(bytes, entries[at + field.uuid]!, entries[at + field.uuid + 1]!);
      this.#event({ bytes, entries }, at);
    }
    if (last < count) return false;
    this.#out[this.#length++] = 0x5d;
    this.#out[this.#length++] = 0x7d;
    return true;
  }

  /** The end of the slice that begins with the next event. Its bytes are searched for names of appended members. */
  #sliceEnd(): number {
    const { entries, count } = this.#index;
    const from = entries[offsetOf(this.#next) + field.item]!;
    const most = Math.min(count, this.#next + captureLimits.slowSliceRowsMax);
    let last = this.#next + 1;
    while (last < most && entries[offsetOf(last) + field.item]! < from + captureLimits.slowSliceBytesMax)
      last++;
    const to = entries[offsetOf(last - 1) + field.item + 1]!;
    this.#splice.search(from, Math.min(to, from + captureLimits.slowSliceBytesMax + limits.eventBytesMax));
    return last;
  }

  #readUuid(bytes: Uint8Array, from: number, to: number): void {
    const isEmpty = to - from === 2 && bytes[from] === 0x22;
    if (to === 0 || isEmpty || bytes[from] === 0x6e)
      throw this.#refusal("missing_event_uuid", "", "has no uuid");
    if (bytes[from] !== 0x22 || !uuidFromText(bytes, from + 1, to - 1, this.#uuid))
      throw this.#refusal("invalid_event_uuid", "The uuid of ", "is not a UUID");
    const value = uuidText(this.#uuid);
    if (to - from === uuidChars + 2) this.#source.copy(this.uuids, this.#next * uuidChars, from + 1, to - 1);
    else this.uuids.set(bytesOf(value), this.#next * uuidChars);
    if (this.#seen.size === this.#seen.add(value).size)
      throw this.#refusal("duplicate_event_uuid", "The uuid of ", "occurs twice");
  }

  #refusal(code: FaultCode, whose: string, what: string): Fault {
    return new Fault(code, `${whose}batch[${this.#next}] ${what}: nothing of the batch is stored.`);
  }

  #event({ bytes, entries }: Indexed, at: EntryOffset): void {
    const [from, to] = [entries[at + field.item]!, entries[at + field.item + 1]!];
    const [properties, propertiesEnd] = [
      entries[at + field.properties]!,
      entries[at + field.properties + 1]!,
    ];
    if (to - from > limits.eventBytesMax) return this.#refuse("message_size_too_large");
    const begun = this.#length;
    this.#copyMembers(bytes, from, properties, propertiesEnd);
    const options = readOptions(
      this.#source,
      this.#ranges[beside.options]!,
      this.#ranges[beside.options + 1]!,
    );
    if (options === undefined) {
      this.#length = begun;
      return this.#refuse("invalid_options");
    }
    this.#put(propertiesText);
    this.#properties(properties, propertiesEnd, options);
    this.#out[this.#length++] = 0x7d;
  }

  #refuse(reason: Reason): void {
    this.refused.set(this.#next, reason);
    this.#put(nothing);
  }

  #properties(from: number, to: number, options: readonly OptionProperty[]): void {
    const splice = this.#splice;
    for (const [name, value] of options) splice.add(name, value);
    for (const name of texts) {
      const [valueFrom, valueTo] = [this.#ranges[beside[name]]!, this.#ranges[beside[name] + 1]!];
      if (valueTo > 0 && this.#source[valueFrom] !== 0x6e)
        splice.add(`$${name}` as const, this.#source.toString("utf8", valueFrom, valueTo));
    }
    this.#length = splice.write(from, to, this.#out, this.#length);
  }

  /** Copies the opening brace and the members, but for the properties and those whose ranges are stored instead. */
  #copyMembers(bytes: Uint8Array, item: number, properties: number, propertiesEnd: number): void {
    this.#ranges.fill(0);
    const members = this.#members.open(bytes, item);
    let next = 0x7b;
    while (members.seek()) {
      const isProperties = members.value === properties;
      if (isProperties) members.jump(propertiesEnd);
      else members.skip();
      const { key, keyEnd, value, end } = members;
      const slot = slotOf(besideKeys, bytes, key, keyEnd);
      if (slot >= 0) {
        this.#ranges[slot] = value;
        this.#ranges[slot + 1] = end;
      } else if (!isProperties) {
        this.#out[this.#length++] = next;
        next = 0x2c;
        this.#length += this.#source.copy(this.#out, this.#length, key - 1, end);
      }
    }
  }

  #put(text: Uint8Array): void {
    this.#out.set(text, this.#length);
    this.#length += text.length;
  }
}

/** Characters of a uuid. */
export const uuidChars = 36;
