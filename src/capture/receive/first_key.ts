// The project key that JSON names, found by walking over its bytes: in a whole short body, or in the first bytes of a
// long one. Builds no objects, and says nothing of whose key it is.

import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import { receiveLimits } from "./limits.ts";
import {
  envelope,
  envelopeKeys,
  field,
  itemKeys,
  keySlot,
  knownKeys,
  propertyKeys,
} from "../scan/event_fields.ts";
import { JsonWalker, stopped } from "../scan/json_walker.ts";

/** Where SDKs that ask for their configuration put their key: the first of these that is a text counts. */
const places = { token: 0, api_key: 1, $token: 2 } as const;
const placeKeys = knownKeys(places);

/**
 * The key that is a member of the object in `bytes`; undefined without one, or when they are no such JSON. Others get
 * their turn between stretches.
 */
export async function keyOfObject(bytes: Uint8Array): Promise<string | undefined> {
  const found: (string | undefined)[] = [];
  try {
    await walkObject(new JsonWalker(bytes), found);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return undefined;
  }
  return found.find((key) => key !== undefined);
}

/** Notes in `found` the texts that `places` name; ends with the first one of them. */
async function walkObject(walk: JsonWalker, found: (string | undefined)[]): Promise<void> {
  const more = async (): Promise<void> => {
    await yieldToEventLoop();
    walk.goal = Math.min(walk.bytes.length, walk.at + captureLimits.slowSliceBytesMax);
  };
  const peek = async (): Promise<number> => {
    for (;;) {
      const next = walk.peek();
      if (next !== stopped) return next;
      await more();
    }
  };
  walk.goal = Math.min(walk.bytes.length, captureLimits.slowSliceBytesMax);
  passMark(walk);
  if ((await peek()) !== 0x7b) return;
  do {
    walk.at++;
    if ((await peek()) === 0x7d) return;
    while (!walk.key()) await more();
    const place = walk.slot(placeKeys);
    const from = walk.at;
    if (!walk.skip(1)) {
      do await more();
      while (!walk.resume());
    }
    if (place >= 0) found[place] = textAt(walk.bytes, from, walk.at);
  } while (found[places.token] === undefined && (await peek()) === 0x2c);
}

/**
 * The key that a body of events will be judged by, as far as its first bytes say so for certain: a batch's own, or that
 * of an array's first event that names one. Undefined when it lies further on, or the bytes are no JSON.
 */
export function firstKey(bytes: Uint8Array): string | undefined {
  const walk = new JsonWalker(bytes.subarray(0, receiveLimits.firstPieceBytes));
  try {
    passMark(walk);
    const next = walk.peek();
    return next === 0x7b ? ownKey(walk) : next === 0x5b ? keyOfItems(walk) : undefined;
  } catch (thrown) {
    // They end within a value, or are malformed: the scan says which.
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

/** The key beside a batch's events. Theirs do not count as long as its own may follow. */
function ownKey(walk: JsonWalker): string | undefined {
  do {
    walk.at++;
    if (walk.peek() === 0x7d) return undefined;
    walk.key();
    const isKey = walk.slot(envelopeKeys) === envelope.api_key;
    const from = walk.at;
    walk.skip(1);
    const key = isKey ? textAt(walk.bytes, from, walk.at) : undefined;
    if (key !== undefined) return key;
  } while (walk.peek() === 0x2c);
  return undefined;
}

/** All events of an array must name the same key, so that the first one decides. */
function keyOfItems(walk: JsonWalker): string | undefined {
  do {
    walk.at++;
    if (walk.peek() !== 0x7b) {
      if (walk.peek() === 0x5d) return undefined;
      walk.skip(1);
      continue;
    }
    const key = keyOfItem(walk);
    if (key !== undefined) return key;
  } while (walk.peek() === 0x2c);
  return undefined;
}

/** An event's own key, or else that in its properties; past the event's end. */
function keyOfItem(walk: JsonWalker): string | undefined {
  let own: string | undefined;
  let inner: string | undefined;
  do {
    walk.at++;
    if (walk.peek() === 0x7d) break;
    walk.key();
    const slot = walk.slot(itemKeys);
    const from = walk.at;
    if (slot === field.properties && walk.bytes[from] === 0x7b) inner = keyOfProperties(walk);
    else {
      walk.skip(2);
      if (slot === keySlot) own = textAt(walk.bytes, from, walk.at) ?? own;
    }
  } while (walk.peek() === 0x2c);
  walk.at++;
  return own ?? inner;
}

function keyOfProperties(walk: JsonWalker): string | undefined {
  let key: string | undefined;
  do {
    walk.at++;
    if (walk.peek() === 0x7d) break;
    walk.key();
    const isKey = walk.slot(propertyKeys) === keySlot;
    const from = walk.at;
    walk.skip(3);
    if (isKey) key = textAt(walk.bytes, from, walk.at) ?? key;
  } while (walk.peek() === 0x2c);
  walk.at++;
  return key;
}

/** Past a byte order mark. */
function passMark(walk: JsonWalker): void {
  const { bytes } = walk;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) walk.at = 3;
}

/** The text of a raw value that the walk has passed; undefined for any other value, and for an empty one. */
function textAt(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (bytes[from] !== 0x22 || to - from > textBytesMax) return undefined;
  return (JSON.parse(decoder.decode(bytes.subarray(from, to))) as string) || undefined;
}

/** A key as long as one may be, each byte of it an escape of six, some white space around it, and the quotes. */
const textBytesMax = limits.projectKeyBytesMax * 8;
const decoder = new TextDecoder();
