// The properties of a v1 event: those that its `options` become, and how members are appended to a raw JSON object, in
// place of earlier ones of the same names. Other bytes stay unchanged.

import { bytesOf } from "../../core/bytes.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { wordsIn } from "../../core/words.ts";

/** Names of members that may be appended. */
const names = wordsIn(`
  $lib $lib_version $session_id $window_id $cookieless_mode $ignore_sent_at $product_tour_id
  $process_person_profile
`);
type Name = (typeof names)[number];

const keyOf = new Map(names.map((name) => [name, bytesOf(`"${name}":`)]));
const quoted = names.map((name) => `"${name}"`);
const nameBytesMax = Math.max(...names.map(({ length }) => length));

/** A member to append; its value is `from` at [start, end). */
interface Put {
  name: Name;
  from: Buffer;
  start: number;
  end: number;
}

export class Splice {
  readonly #source: Buffer;
  readonly #always: Uint8Array;
  readonly #alwaysNames: readonly string[];
  readonly #puts: Put[] = [];
  /**
   * Whether one of the names occurs in the slice of search(). SDKs do not send them as properties, so it is nearly
   * always false.
   */
  #mayHave = true;

  /**
   * @param source holds the objects.
   * @param always members appended to each object, as JSON without braces.
   */
  constructor(source: Buffer, always: string) {
    this.#source = source;
    this.#always = bytesOf(always);
    this.#alwaysNames = Object.keys(JSON.parse(`{${always}}`) as object);
  }

  /** Searches the bytes [from, to), which hold the next objects, for the names. */
  search(from: number, to: number): void {
    const slice = this.#source.subarray(from, to);
    this.#mayHave = quoted.some((name) => slice.includes(name));
  }

  /** Appends a member to the next object. */
  add(name: Name, json: string): void {
    const from = Buffer.from(json);
    this.#puts.push({ name, from, start: 0, end: from.length });
  }

  /** Appends a member whose value is in the source to the next object. */
  addRaw(name: Name, start: number, end: number): void {
    this.#puts.push({ name, from: this.#source, start, end });
  }

  /**
   * Writes the raw value at [from, to) with the members appended; to = 0 and null count as an empty object, and a
   * value that is not an object is copied unchanged. Returns the end in `out`.
   */
  write(from: number, to: number, out: Buffer, at: number): number {
    const source = this.#source;
    const first = to > 0 ? source[from] : 0x6e;
    let end = at;
    if (first === 0x7b) end = this.#copyObject(from, to, out, at);
    else if (first === 0x6e) out[end++] = 0x7b;
    else {
      this.#puts.length = 0;
      return at + source.copy(out, at, from, to);
    }
    let has = first === 0x7b && !isOpening(out, at, end);
    for (const put of this.#puts) {
      if (has) out[end++] = 0x2c;
      has = true;
      const key = keyOf.get(put.name)!;
      out.set(key, end);
      end += key.length;
      end += put.from.copy(out, end, put.start, put.end);
    }
    this.#puts.length = 0;
    if (has && this.#always.length > 0) out[end++] = 0x2c;
    out.set(this.#always, end);
    end += this.#always.length;
    out[end++] = 0x7d;
    return end;
  }

  /**
   * Copies an object without its closing brace and without members that are appended anew; returns the end in `out`.
   */
  #copyObject(from: number, to: number, out: Buffer, at: number): number {
    if (!this.#mayHave) return at + this.#source.copy(out, at, from, to - 1);
    const source = this.#source;
    let end = at;
    out[end++] = 0x7b;
    const members = new JsonCursor(source, from);
    while (members.next()) {
      if (this.#isPut(members.key, members.keyEnd)) continue;
      if (end > at + 1) out[end++] = 0x2c;
      end += source.copy(out, end, members.key - 1, members.end);
    }
    return end;
  }

  #isPut(from: number, to: number): boolean {
    if (to - from > nameBytesMax) return false;
    const name = this.#source.toString("latin1", from, to);
    return this.#alwaysNames.includes(name) || this.#puts.some((put) => put.name === name);
  }
}

/** Whether the bytes are an opening brace and white space only. */
function isOpening(bytes: Uint8Array, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && bytes[at]! <= 0x20) at--;
  return at === from;
}

/** The property and the reader of each option. */
const knownOptions = {
  cookieless_mode: ["$cookieless_mode", flagOf],
  disable_skew_correction: ["$ignore_sent_at", flagOf],
  product_tour_id: ["$product_tour_id", textOf],
  process_person_profile: ["$process_person_profile", flagOf],
} as const;

/** A property that an option becomes, with its value as JSON. */
export type OptionProperty = readonly [
  name: (typeof knownOptions)[keyof typeof knownOptions][0],
  json: string,
];

const none: readonly OptionProperty[] = [];

/**
 * The properties that the options at [from, to) become; the bytes are raw JSON. Unknown options are skipped. Undefined
 * when the options are not an object, or one has an invalid value: the event is then refused, since its sender's
 * intent is unknown.
 */
export function readOptions(source: Buffer, from: number, to: number): readonly OptionProperty[] | undefined {
  if (to - from <= 2) return to === 0 || source[from] === 0x7b ? none : undefined;
  const sent = JSON.parse(source.toString("utf8", from, to)) as unknown;
  if (sent === null) return none;
  if (typeof sent !== "object" || Array.isArray(sent)) return undefined;
  const read: OptionProperty[] = [];
  for (const [name, [property, jsonOf]] of Object.entries(knownOptions)) {
    const value = Object.hasOwn(sent, name) ? (sent as Record<string, unknown>)[name] : null;
    if (value === null) continue;
    const json = jsonOf(value);
    if (json === undefined) return undefined;
    read.push([property, json]);
  }
  return read;
}

/** A flag as PostHog reads it: a boolean, a number, or a text for one. */
function flagOf(value: unknown): string | undefined {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value !== 0);
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (word === "true" || word === "1") return "true";
  return word === "false" || word === "0" ? "false" : undefined;
}

/** A text, or a whole number as a text. */
function textOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return `"${String(value)}"`;
  return typeof value === "string" ? JSON.stringify(value) : undefined;
}
