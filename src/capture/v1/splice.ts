// The properties of a v1 event: those that its `options` become, and how members are appended to a raw JSON object, in
// place of earlier ones of the same names. Other bytes stay unchanged.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import { wordsIn } from "../../core/words.ts";

/** Names of members that may be appended. */
const names = wordsIn(`
  $lib $lib_version $session_id $window_id $cookieless_mode $ignore_sent_at $product_tour_id
  $process_person_profile
`);
type Name = (typeof names)[number];

const quoted = names.map((name) => `"${name}"`);
const nameBytesMax = Math.max(...names.map(({ length }) => length));

export class Splice {
  readonly #source: Buffer;
  readonly #always: string;
  readonly #alwaysNames: readonly string[];
  /** What is appended to the next object: names, and members as JSON, each followed by a comma. */
  readonly #names: Name[] = [];
  #members = "";
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
    this.#always = always;
    this.#alwaysNames = Object.keys(JSON.parse(`{${always}}`) as object);
  }

  /** Searches the bytes [from, to), which hold the next objects, for the names. */
  search(from: number, to: number): void {
    const slice = this.#source.subarray(from, to);
    this.#mayHave = quoted.some((name) => slice.includes(name));
  }

  /** Appends a member to the next object. */
  add(name: Name, json: string): void {
    this.#names.push(name);
    this.#members += `"${name}":${json},`;
  }

  /**
   * Writes the raw value at [from, to) with the members appended; to = 0 and null count as an empty object, and a
   * value that is not an object is copied unchanged. Returns the end in `out`.
   */
  write(from: number, to: number, out: Buffer, at: number): number {
    const first = to > 0 ? this.#source[from] : 0x6e;
    let end = at;
    if (first === 0x7b) end = this.#copyObject(from, to, out, at);
    else if (first === 0x6e) out[end++] = 0x7b;
    else end += this.#source.copy(out, at, from, to);
    const members = this.#always === "" ? this.#members.slice(0, -1) : this.#members + this.#always;
    this.#members = "";
    this.#names.length = 0;
    if (first !== 0x7b && first !== 0x6e) return end;
    if (members !== "" && !isOpening(out, at, end)) out[end++] = 0x2c;
    end += out.write(members, end);
    out[end++] = 0x7d;
    return end;
  }

  /**
   * Copies an object without its closing brace and without members that are appended; returns the end in `out`.
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
    return this.#alwaysNames.includes(name) || this.#names.some((one) => one === name);
  }
}

/** Whether the bytes are an opening brace and white space only. */
function isOpening(bytes: Uint8Array, from: number, to: number): boolean {
  let at = to - 1;
  while (at > from && bytes[at]! <= 0x20) at--;
  return at === from;
}

/** Options, with the property that each becomes, and its reader. */
const knownOptions = [
  ["cookieless_mode", "$cookieless_mode", flagOf],
  ["disable_skew_correction", "$ignore_sent_at", flagOf],
  ["product_tour_id", "$product_tour_id", textOf],
  ["process_person_profile", "$process_person_profile", flagOf],
] as const;

/** A property that an option becomes, with its value as JSON. */
export type OptionProperty = readonly [name: (typeof knownOptions)[number][1], json: string];

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
  for (const [name, property, jsonOf] of knownOptions) {
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
