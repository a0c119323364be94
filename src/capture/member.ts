// Which members of a body matter, and where the scan notes them. Tables and a look-up; nothing else.

import { bytesOf } from "../core/bytes.ts";

/**
 * Places in an event's entry of the index; each holds [from, to) of the raw value, quotes included, or 0, 0.
 */
export const field = {
  item: 0,
  event: 2,
  distinct_id: 4,
  properties: 6,
  timestamp: 8,
  uuid: 10,
  offset: 12,
  properties_distinct_id: 14,
  /** One number: the item's place in its batch. */
  ordinal: 16,
  /** One number: 1 when unstorable characters were replaced. */
  altered: 17,
} as const;
export const entryLength = 18;

/** Top-level members of a batch object. */
export const envelope = { api_key: 0, sent_at: 2, historical_migration: 4, batch: 6 } as const;

export const noSlot = -1;
export const keySlot = -2;

interface KnownKey {
  name: Uint8Array;
  slot: number;
}

/** Key names by their length in bytes. */
export type KnownKeys = readonly (readonly KnownKey[] | undefined)[];

function knownKeys(slots: Record<string, number>): KnownKeys {
  const byLength: KnownKey[][] = [];
  for (const [name, slot] of Object.entries(slots))
    (byLength[name.length] ??= []).push({ name: bytesOf(name), slot });
  return byLength;
}

export const itemKeys = knownKeys({
  event: field.event,
  distinct_id: field.distinct_id,
  $distinct_id: field.distinct_id,
  properties: field.properties,
  timestamp: field.timestamp,
  uuid: field.uuid,
  offset: field.offset,
  api_key: keySlot,
  token: keySlot,
  $token: keySlot,
});
export const propertyKeys = knownKeys({ distinct_id: field.properties_distinct_id, token: keySlot });
export const envelopeKeys = knownKeys({
  api_key: envelope.api_key,
  token: envelope.api_key,
  sent_at: envelope.sent_at,
  historical_migration: envelope.historical_migration,
  batch: envelope.batch,
});

/** The slot of the key whose bytes lie from `from` to `to`; noSlot for one that does not matter. */
export function slotOf(keys: KnownKeys, bytes: Uint8Array, from: number, to: number): number {
  const candidates = keys[to - from];
  if (candidates === undefined) return noSlot;
  next: for (const { name, slot } of candidates) {
    for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) continue next;
    return slot;
  }
  return noSlot;
}

/** A key written with escapes ("\u0065vent") is the same key: read it the slow way. */
export function slotOfEscaped(keys: KnownKeys, bytes: Uint8Array, from: number, to: number): number {
  const plain = bytesOf(JSON.parse(new TextDecoder().decode(bytes.subarray(from - 1, to + 1))) as string);
  return slotOf(keys, plain, 0, plain.length);
}
