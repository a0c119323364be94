// Whose events these are: the one project key a body names. Reads the index of a body.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import type { EventIndex } from "../scan/event_index.ts";

/** What a body's index says of all of it. */
export type Envelope = Pick<
  EventIndex,
  "bytes" | "shape" | "items" | "member" | "itemKey" | "itemKeysDiffer"
>;

/**
 * The key of a body: a batch's own wins over its items'; otherwise all items must name the same.
 * @throws Fault missing_api_key or invalid_api_key (401), invalid_payload when there is no event at all.
 */
export function keyOf(index: Envelope): string {
  if (index.shape === "other")
    throw new Fault("invalid_payload", "Malformed request data: expected an object or an array.");
  if (index.items === 0) throw new Fault("invalid_payload", "The request holds no event.");
  const own = index.member("api_key");
  const ownKey = own && textOf(index, own);
  if (ownKey) return ownKey;
  if (index.itemKeysDiffer) {
    throw new Fault("invalid_api_key", "The events of one request must all name the same project API key.");
  }
  const itemKey = index.itemKey && textOf(index, index.itemKey);
  if (itemKey) return itemKey;
  throw new Fault(
    "missing_api_key",
    "API key not provided. Send your project API key as api_key in the body.",
  );
}

/** True when the body is one object that has neither a `batch` nor an `event`. */
export function isNoBatch({ shape, count, ignored }: EventIndex): boolean {
  return shape === "event" && count === 0 && ignored.counts.has("missing_event_name");
}

/** The text of a raw JSON string, trimmed; undefined for any other value. */
function textOf({ bytes }: Envelope, [from, to]: readonly [number, number]): string | undefined {
  if (bytes[from] !== 0x22) return undefined;
  const place = (bytes[to - 2]! + 31 * bytes[to - 3]! + 17 * (to - from)) % known.length;
  const found = known[place];
  if (found?.raw.length === to - from && sameBytes(found.raw, bytes, from)) return found.text;
  const raw = bytes.slice(from, to);
  const text = (JSON.parse(decoder.decode(raw)) as string).trim();
  if (raw.length <= knownBytesMax) known[place] = { raw, text };
  return text;
}

/** Texts read lately: most requests name one of few keys. Found by their last bytes and their length. */
const known: ({ raw: Uint8Array; text: string } | undefined)[] = Array.from({ length: 256 });
/** A key as long as it may be, and its quotes. */
const knownBytesMax = limits.projectKeyBytesMax + 2;
const decoder = new TextDecoder();

function sameBytes(raw: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < raw.length; i++) if (raw[i] !== bytes[from + i]) return false;
  return true;
}

/** True when the body says that it is a migration. */
export function isHistorical(index: Envelope): boolean {
  const member = index.member("historical_migration");
  if (!member) return false;
  const text = decoder.decode(index.bytes.subarray(...member));
  return text === "true" || text === '"true"';
}
