// The keys of a definition's name within a process: a text, and a number of its bytes.

import { toBytes } from "../../core/bytes.ts";
import { wordsIn } from "../../core/words.ts";
import type { ByteRange } from "../fields/raw_value.ts";
import { definitionLimits } from "./limits.ts";
import { type Definition, definitionKind } from "./store.ts";

/** Members of properties that mean something else, as in PostHog. */
export const passedOver: ReadonlySet<string> = new Set(
  wordsIn("$set $set_once $unset $group_0 $group_1 $group_2 $group_3 $group_4 $groups"),
);
/** They are past no bound. */
export const passedOverNumbers = [...passedOver].map((name) =>
  toNameNumber({ kind: definitionKind.eventProperty, group_type: "", name }),
);

type Named = Pick<Definition, "kind" | "group_type" | "name">;

export function nameKey({ kind, group_type, name }: Named): string {
  return `${kind}${group_type}\0${name}`;
}

export function toNameNumber({ kind, group_type, name }: Named): number {
  const source = toBytes(name);
  return nameNumber(kind, group_type, { source, from: 0, to: source.length });
}

/** Whether the bytes are the name itself, and not too many. */
export function isPlain({ source, from, to }: ByteRange, isDecoded: boolean): boolean {
  if (to - from > definitionLimits.nameCharsMax) return false;
  for (let at = from; !isDecoded && at < to; at++) if (source[at] === 0x5c) return false;
  return true;
}

/**
 * A definition's name with its kind and type of group as a number of 53 bits; makes no garbage. Names with one number
 * may be made on purpose: another number is another name, the same number proves nothing.
 */
export function nameNumber(kind: number, group_type: string, { source, from, to }: ByteRange): number {
  let low = Math.imul(0x811c9dc5 ^ kind, 0x01000193);
  let high = Math.imul(kind + 1, 0x85ebca6b) ^ group_type.length;
  const before = from - group_type.length;
  for (let at = before; at < to; at++) {
    const unit = at < from ? group_type.charCodeAt(at - before) : source[at]!;
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul((high ^ unit) + (high >>> 15), 0xc2b2ae35);
  }
  return ((high ^ (high >>> 13)) & 0x1f_ffff) * 0x1_0000_0000 + ((low ^ (low >>> 13)) >>> 0);
}
