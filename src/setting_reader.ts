// Settings by their names: each is read as what it has to be, and all that is wrong is reported at once.

import { wrongNetwork } from "./access/client_address.ts";
import { UserError } from "./core/fault.ts";
import { wrongKey } from "./core/id.ts";

export type Environment = Record<string, string | undefined>;

/** Whether two names differ by one character too many, too few or wrong, or by two that are swapped. */
function isOneSlip(name: string, other: string): boolean {
  if (Math.abs(name.length - other.length) > 1) return false;
  let from = 0;
  while (from < name.length && name[from] === other[from]) from++;
  let [end, otherEnd] = [name.length, other.length];
  while (end > from && otherEnd > from && name[end - 1] === other[otherEnd - 1])
    [end, otherEnd] = [end - 1, otherEnd - 1];
  const [left, otherLeft] = [name.slice(from, end), other.slice(from, otherEnd)];
  const areSwapped = left.length === 2 && left === `${otherLeft[1]}${otherLeft[0]}`;
  return areSwapped || Math.max(left.length, otherLeft.length) === 1;
}

/** The fewest characters of a secret: 16 hexadecimal digits have 64 bits. */
const secretCharsMin = 16;

/** Reads variables and collects errors, so that one start reports every wrong value. */
export class SettingReader {
  readonly #environment: Environment;
  readonly #errors: string[] = [];
  /** The names of all settings, after each was read. */
  readonly #known = new Set<string>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  wrong(error: string): void {
    this.#errors.push(error);
  }

  finish(): void {
    if (this.#errors.length === 0) return;
    throw new UserError(`wrong configuration:\n  ${this.#errors.join("\n  ")}`);
  }

  /** Variables that are no settings, each with the setting whose name is one slip away. */
  misspelt(): [name: string, setting: string][] {
    return Object.keys(this.#environment).flatMap((name) => {
      if (this.#known.has(name)) return [];
      const setting = [...this.#known].find((known) => isOneSlip(name, known));
      return setting === undefined ? [] : [[name, setting] as [string, string]];
    });
  }

  /** An empty variable counts as unset: compose files turn missing variables into empty ones. */
  text(name: string): string | undefined {
    this.#known.add(name);
    return this.#environment[name]?.trim() || undefined;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    return this.optionalInteger(name, min, max) ?? fallback;
  }

  optionalInteger(name: string, min: number, max: number): number | undefined {
    const isRight = (text: string) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;
    const text = this.#checked(name, isRight, `a whole number from ${min} to ${max}`);
    return text === undefined ? undefined : Number(text);
  }

  /** Addresses and networks, separated by commas or blanks. */
  networks(name: string): string[] {
    const entries = (this.text(name) ?? "").split(/[\s,]/).filter((entry) => entry !== "");
    const wrong = entries.map(wrongNetwork).filter((reason) => reason !== undefined);
    for (const reason of wrong) this.wrong(`${name}: ${reason}`);
    return entries;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const isRight = (text: string) => (choices as readonly string[]).includes(text);
    return this.#checked(name, isRight, `one of ${choices.join(", ")}`) as T | undefined;
  }

  flag(name: string): boolean {
    return this.choice(name, ["0", "1"] as const) === "1";
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const isRight = (text: string) => URL.canParse(text) && protocols.includes(new URL(text).protocol);
    const expected = `a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`;
    return this.#checked(name, isRight, expected, true);
  }

  key(name: string, charsMin?: number, charsMax?: number): string | undefined {
    const text = this.text(name);
    const wrong = text === undefined ? undefined : wrongKey(text, charsMin, charsMax);
    if (wrong === undefined) return text;
    this.wrong(`${name}: ${wrong}`);
    return undefined;
  }

  /** A key for encryption, which must not be guessable: `openssl rand -hex 32` makes one. */
  secret(name: string): string | undefined {
    const expected = `at least ${secretCharsMin} characters, better 64 random ones`;
    return this.#checked(name, ({ length }) => length >= secretCharsMin, expected, true);
  }

  /** @param what the error names it. */
  matching(name: string, shape: RegExp, what: string): string | undefined {
    return this.#checked(name, (text) => shape.test(text), what);
  }

  /**
   * Returns the text; when it is invalid, undefined, with an error that names what is expected.
   * @param isSecret whether it may contain a password, which the error must not show.
   */
  #checked(
    name: string,
    isRight: (text: string) => boolean,
    expected: string,
    isSecret = false,
  ): string | undefined {
    const text = this.text(name);
    if (text === undefined || isRight(text)) return text;
    this.wrong(`${name}: expected ${expected}${isSecret ? "" : `, got "${text}"`}`);
    return undefined;
  }
}
