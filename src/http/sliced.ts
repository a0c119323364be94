// Long replies, written and sent a slice at a time, so that a capture beside them waits for a slice only. Never
// changes what JSON.stringify would have written.

import { othersTurn } from "../core/clock.ts";
import { limits } from "../core/limits.ts";

const headers = { "content-type": "application/json" };

/** A JSON reply of these parts, which are joined; long ones are neither copied nor sent in one go. */
export function slicedReply(parts: readonly Uint8Array[]): Response {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (bytes <= limits.replySliceBytes) return new Response(Buffer.concat(parts, bytes), { headers });
  const slices = slicesOf(parts);
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value, done } = slices.next();
      if (done) controller.close();
      else controller.enqueue(value);
      await othersTurn();
    },
  });
  return new Response(body, { headers });
}

/**
 * The object as a JSON reply, written member by member and element by element down to `levels` below it: what lies
 * deeper is written in one go.
 */
export async function slicedJson(value: Readonly<Record<string, unknown>>, levels = 2): Promise<Response> {
  const parts: Uint8Array[] = [];
  let text = "";
  for (const piece of piecesOf(value, levels)) {
    text += piece;
    if (text.length < limits.replySliceBytes) continue;
    parts.push(Buffer.from(text));
    text = "";
    await othersTurn();
  }
  parts.push(Buffer.from(text));
  return slicedReply(parts);
}

function* slicesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += limits.replySliceBytes) {
      yield part.subarray(at, at + limits.replySliceBytes);
    }
  }
}

function* piecesOf(value: unknown, levels: number): Generator<string, undefined> {
  if (levels > 0 && Array.isArray(value)) yield* elementsOf(value, levels - 1);
  else if (levels > 0 && isPlain(value)) yield* membersOf(value, levels - 1);
  else yield JSON.stringify(value) ?? "null";
}

function* elementsOf(list: readonly unknown[], levels: number): Generator<string, undefined> {
  yield "[";
  for (const [i, element] of list.entries()) {
    if (i > 0) yield ",";
    yield* piecesOf(element, levels);
  }
  yield "]";
}

function* membersOf(value: Readonly<Record<string, unknown>>, levels: number): Generator<string, undefined> {
  let before = "{";
  for (const [name, member] of Object.entries(value)) {
    // What JSON has no word for is left out of an object.
    if (member === undefined || typeof member === "function" || typeof member === "symbol") continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* piecesOf(member, levels);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

/** Whether its members are what JSON shows of it. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !("toJSON" in value);
}
