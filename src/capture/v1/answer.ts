// Answers POST requests of the v1 capture protocol: key, clock and SDK are in headers, and the reply has a result for
// each event. The batch is translated to one for /batch, and goes through the same pipeline.

import { bytesOf } from "../../core/bytes.ts";
import { free } from "../../core/chunks.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import { captureLimits } from "../limits.ts";
import { v1Limits } from "./limits.ts";
import { type BodyMemory, arrive, inArena, indexBytesFor } from "../receive/received_body.ts";
import type { UploadBounds } from "../receive/upload.ts";
import type { Warning } from "../event/outcome.ts";
import { capture, scanOn } from "../pipeline.ts";
import { replyHeaders } from "../receive/reply.ts";
import { BodyScanner } from "../scan/body_scanner.ts";
import { type AnswerOptions, captureRefusal } from "../receive/single_event_request.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import type { ArenaPool } from "../receive/arena_pool.ts";
import { readIso } from "../scan/timestamp.ts";
import { resultBytesMax, resultsText } from "./results.ts";
import { Translation, type TranslationOptions, uuidChars } from "./translation.ts";

/** SDKs send events of language models to the second path, in the same format. */
export const v1Paths = ["/i/v1/analytics/events", "/i/v1/ai/events"];

export interface V1Options extends AnswerOptions {
  bodyBytesMax: number;
  /** The client's IP address, if it is known. */
  addressOf(request: Request): string | undefined;
  uploadBounds?: UploadBounds;
}

/** What all requests share. */
export interface V1Context {
  options: V1Options;
  arenas: ArenaPool;
}

const noQuery = new URLSearchParams();

/** Answers one POST request. */
export async function answerV1(request: Request, context: V1Context): Promise<Response> {
  const { options, arenas } = context;
  const started = options.clock.elapsed();
  const place: BodyMemory = { arenas, arena: undefined, lease: options.memory.open() };
  let response: Response;
  try {
    response = new Response(await take(request, context, place), { headers: replyHeaders(request) });
  } catch (thrown) {
    response = captureRefusal(thrown, request, options, v1Fields);
  } finally {
    if (place.arena) arenas.give(place.arena);
    place.lease.close();
    options.seconds((options.clock.elapsed() - started) / 1000);
  }
  const id = request.headers.get("posthog-request-id");
  if (id !== null && id.length <= requestIdCharsMax) response.headers.set("posthog-request-id", id);
  return response;
}

/** Codes that PostHog names differently. */
const tags: Partial<Record<FaultCode, string>> = {
  no_data: "empty_body",
  invalid_payload: "request_parsing_error",
  missing_api_key: "missing_authorization",
  invalid_api_key: "invalid_api_token",
  upload_timeout: "body_read_timeout",
  unavailable: "service_unavailable",
  journal_share_exceeded: "service_unavailable",
  changes_share_exceeded: "service_unavailable",
};

/** Fields of a refusal beside those of every fault: PostHog's, which its SDKs show. */
function v1Fields({ code, detail }: Fault): { error: string; error_description: string } {
  return { error: tags[code] ?? code, error_description: detail };
}

/** A request's id is a uuid; the reply repeats it. */
const requestIdCharsMax = 64;

/** Captures the batch of a request; returns its results as JSON. @throws Fault when the whole request is refused. */
async function take(request: Request, { options, arenas }: V1Context, place: BodyMemory): Promise<string> {
  const { lease } = place;
  const key = bearerOf(request);
  const admit = () => assign(key, options, place);
  const arriving = { request, query: noQuery, options, place, first: admit };
  const arrived = await arrive({ ...arriving, inflatedBytesMax: v1Limits.v1InflatedBytesMax });
  await admit();
  if (arrived.body.length === 0) throw new Fault("no_data", "The request has no body.");
  const translation = await translated(arrived.body, { key, sdk: sdkOf(request) }, place);
  const { refused, uuids } = translation;
  const warned = new Map<number, Warning>();
  const body = await inArena([translation.body], place);
  const isCopied = body.buffer !== translation.body.buffer;
  if (isCopied) free(translation.body, true);
  lease.hold(body.length + indexBytesFor(body.length) + uuids.length);
  const { arena } = place;
  const address = () => options.addressOf(request);
  const from = { sent_at: sentAtOf(request), nameless: false, address };
  const sent = { ...from, body, arena, borrowed: arenas.lend(body), lease };
  const { ignored } = await capture({ ...sent, refused, warnings: warned }, options);
  // Warnings are read from the body later when the request does not wait for them.
  if (!isCopied && options.ack !== "memory") free(body, true);
  lease.hold(uuids.length + (uuids.length / uuidChars) * resultBytesMax);
  const reasons = new Map(ignored.list.map(({ index, reason }) => [index, reason]));
  return await resultsText({ uuids, ignored: reasons, warned });
}

/** Charges the request's memory to its project. @throws Fault invalid_api_key as ProjectKeys.admit(). */
async function assign(key: string, { keys }: V1Options, { lease }: BodyMemory): Promise<void> {
  lease.assign(keys.find(key) ?? (await keys.admit(key)));
}

/** Translates a body, and frees it. @throws Fault when it is not a v1 batch. */
async function translated(
  sent: Uint8Array,
  options: TranslationOptions,
  { arena, arenas, lease }: BodyMemory,
): Promise<Translation> {
  try {
    // The arena for short bodies is borrowed only until the event loop gets a turn.
    let borrowed = arena ? undefined : arenas.lend(sent);
    let scan = scanOf(borrowed?.hold(sent) ?? sent, borrowed ?? arena);
    if (!scan.advance(captureLimits.sliceBytesMax)) {
      if (borrowed) scan = scanOf(sent);
      borrowed = undefined;
      await scanOn(scan);
    }
    checkBatch(scan);
    const bytesMax = Translation.bytesMax(scan, options);
    lease.acquire(bytesMax);
    const translation = new Translation(scan, options, Buffer.allocUnsafeSlow(bytesMax));
    while (!translation.advance()) if (!borrowed) await yieldToEventLoop();
    return translation;
  } finally {
    free(sent);
  }
}

function scanOf(bytes: Uint8Array, arena?: ScanArena): BodyScanner {
  const scan = new BodyScanner(bytes, false, arena);
  scan.indexesAll = true;
  return scan;
}

function checkBatch(scan: BodyScanner): void {
  if (scan.shape !== "batch")
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  if (scan.items === 0) throw new Fault("empty_batch", "The request holds no event.");
  if (scan.items > v1Limits.v1EventsMax || scan.isPartial) {
    const detail = `A request must hold at most ${v1Limits.v1EventsMax} events; ${scan.items} arrived.`;
    throw new Fault("payload_too_large", detail);
  }
  const [first] = scan.ignored.list;
  if (first) {
    const detail = `batch[${first.index}] is not an object and has no uuid: nothing of the batch is kept.`;
    throw new Fault("missing_event_uuid", detail);
  }
}

/** The project key in the Authorization header. @throws Fault missing_api_key. */
function bearerOf({ headers }: Request): string {
  const sent = headers.get("authorization") ?? "";
  const key = sent.slice(0, scheme.length).toLowerCase() === scheme ? sent.slice(scheme.length).trim() : "";
  if (key !== "") return key;
  const detail = "API key not provided. Send your project API key in the header Authorization: Bearer <key>.";
  throw new Fault("missing_api_key", detail);
}

const scheme = "bearer ";

/** `$lib` and `$lib_version` from the header PostHog-Sdk-Info (`name/version`), as JSON members; empty without it. */
function sdkOf({ headers }: Request): string {
  const info = headers.get("posthog-sdk-info") ?? "";
  const slash = info.lastIndexOf("/");
  const [name, version] = [info.slice(0, Math.max(0, slash)).trim(), info.slice(slash + 1).trim()];
  if (info.length > v1Limits.sdkInfoCharsMax || name === "" || version === "") return "";
  return `"$lib":${JSON.stringify(name)},"$lib_version":${JSON.stringify(version)}`;
}

/** When the client sent the request by its own clock, in microseconds since 1970; NaN when it does not say. */
function sentAtOf({ headers }: Request): number {
  const text = bytesOf(headers.get("posthog-request-timestamp") ?? "");
  return readIso(text, 0, text.length);
}
