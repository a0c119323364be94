// Long replies, written and sent a slice at a time, so that a concurrent capture waits for one slice only.

import { bytesIn } from "../../core/chunks.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { primed } from "../../work/slices.ts";
import { httpLimits } from "../limits.ts";
import { heldReplies, type HeldReply } from "./held_replies.ts";
import { collectParts, jsonChunks } from "./json_parts.ts";
import { LongReply } from "./long_reply.ts";

type Headers = Readonly<Record<string, string>>;

const jsonHeaders: Headers = { "content-type": "application/json" };

/**
 * A reply of these parts joined, JSON by default. A long one is sent in slices, without a copy.
 * @throws Fault as HeldReply.add().
 */
export function slicedReply(parts: readonly Uint8Array[], headers: Headers = jsonHeaders): Response {
  const bytes = bytesIn(parts);
  if (bytes <= httpLimits.replyWholeBytesMax) return new Response(Buffer.concat(parts, bytes), { headers });
  const reply = heldReplies.open();
  try {
    reply.add(bytes);
  } catch (thrown) {
    reply.close();
    throw thrown;
  }
  return sentAsRead(heldSlices([...parts], reply), { headers }, reply);
}

/**
 * A reply, JSON by default, whose middle is generated while it is sent: the next chunk is requested when the last was
 * taken, so that one chunk is in memory. A failure half way closes the connection, so that no client takes it for
 * complete. A short reply is sent whole.
 */
export async function streamedReply(
  head: Uint8Array,
  middle: AsyncGenerator<Uint8Array, void>,
  tail: Uint8Array,
  headers: Headers = jsonHeaders,
): Promise<Response> {
  const begun = [head];
  for (let bytes = 0; bytes < limits.replySliceBytes;) {
    const { value, done } = await middle.next();
    if (done) return slicedReply([...begun, tail], headers);
    begun.push(value);
    bytes += value.length;
  }
  const slices = async function* () {
    await using rest = middle;
    yield* cutSlices(begun);
    for await (const chunk of rest) yield* cutSlices([chunk]);
    yield tail;
  };
  return sentAsRead(slices(), { headers }, undefined, () => void middle.return());
}

function sentAsRead(
  slices: Generator<Uint8Array, undefined> | AsyncGenerator<Uint8Array, void>,
  init: ResponseInit,
  reply?: HeldReply,
  end: () => void = () => {},
): LongReply {
  const next = async () => (await slices.next()).value ?? undefined;
  // The client disconnected or reads too slowly, or its memory was needed: the generator ends.
  const release = (): void => {
    reply?.close();
    void slices.return(undefined);
    // Slices that were not begun do not end what they are of.
    end();
  };
  return new LongReply({ next, release, msMax: httpLimits.longReplyMsMax, held: reply }, init);
}

/**
 * The object as a JSON reply, written member by member and element by element down to `levels` levels; deeper values
 * are written in one step.
 */
export async function slicedJson(value: object, levels = 2, status = 200): Promise<Response> {
  return await slicedTexts(jsonChunks(value, levels), jsonHeaders, status);
}

/**
 * A reply of these texts and bytes joined, JSON by default; yields to the event loop in between. Bytes are not copied.
 * @throws as slicedReply().
 */
export async function slicedTexts(
  texts: Iterable<string | Uint8Array>,
  headers: Headers = jsonHeaders,
  status = 200,
): Promise<Response> {
  const reply = heldReplies.open();
  try {
    const parts = await collectParts(texts, (bytes) => reply.add(bytes));
    const init = { headers, status };
    if (reply.bytes > httpLimits.replyWholeBytesMax) return sentAsRead(heldSlices(parts, reply), init, reply);
    reply.close();
    return new Response(Buffer.concat(parts), init);
  } catch (thrown) {
    reply.close();
    throw thrown;
  }
}

/** Parts that are held, in slices: what was sent is freed part by part. */
export function* heldSlices(parts: Uint8Array[], reply: HeldReply): Generator<Uint8Array, undefined> {
  for (let part = parts.shift(); part; part = parts.shift()) {
    yield* cutSlices([part]);
    reply.free(part.length);
  }
}

function* cutSlices(parts: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += limits.replySliceBytes) {
      yield part.subarray(at, at + limits.replySliceBytes);
    }
  }
}

/**
 * Rows as JSON texts, each with a comma before it, in slices; yields to the event loop in between. The first block is
 * read before this resolves, so that its failure can still set the status.
 */
export async function primedTexts<Row>(blocks: AsyncGenerator<Row[], void>, toText: (row: Row) => string) {
  return await primed(joinTexts(blocks, toText));
}

async function* joinTexts<Row>(blocks: AsyncGenerator<Row[], void>, toText: (row: Row) => string) {
  for await (const rows of blocks) {
    let text = "";
    for (const row of rows) {
      text += `,${toText(row)}`;
      if (text.length < limits.replySliceBytes) continue;
      yield Buffer.from(text);
      text = "";
      await yieldToEventLoop();
    }
    if (text !== "") yield Buffer.from(text);
  }
}
