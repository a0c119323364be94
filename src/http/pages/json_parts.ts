// Values as JSON, chunk by chunk, and texts as bytes in parts, with turns of the event loop in between.

import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";

/** A value that is JSON already. */
export abstract class WrittenJson {
  abstract jsonChunks(): Iterable<string | Uint8Array>;
}

/**
 * The value as JSON in chunks, member by member and element by element down to `levels` levels; deeper values are one
 * chunk.
 */
export function* jsonChunks(value: unknown, levels: number): JsonChunks {
  if (value instanceof WrittenJson) yield* value.jsonChunks();
  else if (levels > 0 && Array.isArray(value)) yield* writeElements(value, levels - 1);
  else if (levels > 0 && isPlain(value)) yield* writeMembers(value, levels - 1);
  else yield JSON.stringify(value) ?? "null";
}

type JsonChunks = Generator<string | Uint8Array, undefined>;

function* writeElements(list: readonly unknown[], levels: number): JsonChunks {
  yield "[";
  for (const [i, element] of list.entries()) {
    if (i > 0) yield ",";
    yield* jsonChunks(element, levels);
  }
  yield "]";
}

function* writeMembers(value: Readonly<Record<string, unknown>>, levels: number): JsonChunks {
  let before = "{";
  for (const [name, member] of Object.entries(value)) {
    // JSON.stringify omits these members.
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonChunks(member, levels);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !("toJSON" in value);
}

/**
 * The texts as bytes in parts of about `partBytes`; undefined when they are more than `bytesMax`. Yields to the event
 * loop in between.
 */
export async function partsWithin(
  texts: Iterable<string | Uint8Array>,
  bytesMax: number,
  partBytes?: number,
): Promise<Uint8Array[] | undefined> {
  let bytes = 0;
  const within = function* (): JsonChunks {
    for (const text of texts) {
      if (bytes > bytesMax) return;
      yield text;
    }
  };
  const parts = await collectParts(within(), (added) => void (bytes += added), partBytes);
  return bytes > bytesMax ? undefined : parts;
}

/**
 * The texts as bytes, joined to parts of about `partBytes`.
 * @param add is called with the bytes of each part before it is kept.
 */
export async function collectParts(
  texts: Iterable<string | Uint8Array>,
  add: (bytes: number) => void,
  partBytes: number = limits.replySliceBytes,
): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  let text = "";
  const end = (...more: Uint8Array[]): void => {
    const whole = [Buffer.from(text), ...more].filter(({ length }) => length > 0);
    for (const { length } of whole) add(length);
    parts.push(...whole);
    text = "";
  };
  for (const chunk of texts) {
    if (typeof chunk === "string") text += chunk;
    else end(chunk);
    if (text.length < partBytes) continue;
    end();
    await yieldToEventLoop();
  }
  end();
  return parts;
}
