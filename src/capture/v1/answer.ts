// Answers POST requests of the v1 capture protocol: key, clock and SDK are in headers, and the reply has a result for
// each event. The batch is translated to one for /batch, and goes through the same pipeline.

import { toBytes } from "../../core/bytes.ts";
import { free } from "../../core/chunks.ts";
import { runAtOnce, runInTurns } from "../../core/clock.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { announcedBytes } from "../../work/bodies/upload.ts";
import type { Reason, Warning } from "../fields/outcome.ts";
import { captureLimits } from "../limits.ts";
import { capture, scanFirst, scanOn } from "../pipeline.ts";
import { type ArenaPool, ReceivedBody } from "../receive/received_body.ts";
import { captureRefusal, listReply } from "../receive/reply.ts";
import type { AnswerOptions } from "../receive/single_event.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { readIso } from "../scan/timestamp.ts";
import { likelyIndexBytes } from "../wasm/scan_arena.ts";
import { Translation, type TranslationOptions } from "./translation.ts";

export async function answerV1(
  request: Request,
  { options, arenas }: { options: AnswerOptions; arenas: ArenaPool },
): Promise<Response> {
  const started = options.clock.elapsed();
  const body = new ReceivedBody(arenas);
  const lease = options.memory.open(announcedBytes(request));
  let response: Response;
  try {
    response = await captureBatch(request, options, body, lease);
  } catch (thrown) {
    response = captureRefusal(thrown, request, options, v1Fields);
  } finally {
    // With "memory", warnings are read out of the body after the reply.
    body.close();
    lease.close();
    options.observeSeconds((options.clock.elapsed() - started) / 1000);
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

/** Captures the batch of a request; answers with its results. @throws Fault for one that is refused whole. */
async function captureBatch(
  request: Request,
  options: AnswerOptions,
  body: ReceivedBody,
  lease: MemoryLease,
): Promise<Response> {
  const key = readBearer(request);
  const known = options.keys.find(key);
  if (known !== undefined) lease.assign(known);
  // Counts the request's memory for the key's project from here on.
  const admit = async () => lease.assign(options.keys.find(key) ?? (await options.keys.admit(key)));
  const { v1InflatedBytesMax: inflatedBytesMax } = captureLimits;
  await body.receive({ request, query: new URLSearchParams(), options, admit, inflatedBytesMax }, lease);
  await admit();
  if (body.bytes.length === 0) throw new Fault("no_data", "The request has no body.");
  const { bytes, refused, uuids } = await translate(body, { key, sdk: readSdk(request) }, lease);
  const uuidBytes = uuids.size * captureLimits.v1UuidBytes;
  const warnings = new Map<number, Warning>();
  await body.replace([bytes]);
  if (body.bytes.buffer !== bytes.buffer) free(bytes, true);
  lease.resize(body.bytes.length + likelyIndexBytes(body.bytes.length) + uuidBytes);
  const address = () => options.readAddress(request);
  // Measured by the client's own clock, in microseconds since 1970; NaN when it is unknown.
  const sentText = toBytes(request.headers.get("posthog-request-timestamp") ?? "");
  const sent_at = readIso(sentText, 0, sentText.length);
  const input = { body, sent_at, allowsNameless: false, isVerbose: true, address, lease, refused, warnings };
  const { project_id, ignored } = await capture(input, options);
  free(bytes, true);
  lease.resize(uuidBytes);
  const reasons = new Map(ignored.list.map(({ index, reason }) => [index, reason]));
  return await listReply(request, resultTexts(uuids, reasons, warnings), project_id);
}

/** Translates a body, and frees it. @throws Fault when it is not a v1 batch. */
async function translate(body: ReceivedBody, options: TranslationOptions, lease: MemoryLease) {
  try {
    const scanner = body.scanner({ indexesAll: true });
    if (!scanFirst(scanner)) await scanOn(scanner);
    const { index } = scanner;
    checkBatch(index);
    const bytesMax = Translation.bytesMax(index, options);
    lease.acquire(bytesMax);
    const translation = new Translation(index, options, Buffer.allocUnsafeSlow(bytesMax));
    const writing = translation.write();
    const bytes = index.isShared ? runAtOnce(writing) : await runInTurns(writing);
    return { bytes, refused: translation.refused, uuids: translation.uuids };
  } finally {
    free(body.bytes);
  }
}

function checkBatch(index: EventIndex): void {
  if (index.shape !== "batch")
    throw new Fault("invalid_payload", "The body has no batch: send an array of events as batch.");
  if (index.items === 0) throw new Fault("empty_batch", "The request holds no event.");
  if (index.items > captureLimits.v1EventsMax || index.isPartial) {
    const detail = `A request must hold at most ${captureLimits.v1EventsMax} events; ${index.items} arrived.`;
    throw new Fault("payload_too_large", detail);
  }
  const [first] = index.ignored.examples;
  if (first) {
    const detail = `batch[${first.index}] is not an object and has no uuid: nothing of the batch is stored.`;
    throw new Fault("missing_event_uuid", detail);
  }
}

/** The project key in the Authorization header. @throws Fault missing_api_key. */
function readBearer({ headers }: Request): string {
  const text = headers.get("authorization") ?? "";
  const key = text.slice(0, scheme.length).toLowerCase() === scheme ? text.slice(scheme.length).trim() : "";
  if (key !== "") return key;
  const detail = "API key not provided. Send your project API key in the header Authorization: Bearer <key>.";
  throw new Fault("missing_api_key", detail);
}

const scheme = "bearer ";

/** `$lib` and `$lib_version` from the header PostHog-Sdk-Info (`name/version`), as JSON members; empty without it. */
function readSdk({ headers }: Request): string {
  const info = headers.get("posthog-sdk-info") ?? "";
  const slash = info.lastIndexOf("/");
  const [name, version] = [info.slice(0, Math.max(0, slash)).trim(), info.slice(slash + 1).trim()];
  if (info.length > captureLimits.v1SdkInfoCharsMax || name === "" || version === "") return "";
  return `"$lib":${JSON.stringify(name)},"$lib_version":${JSON.stringify(version)}`;
}

/**
 * `{"results": {"<uuid>": {"result": "ok", "details"?: "<reason>"}}}` in chunks; a result is ok, warning or drop. No
 * result asks for a retry: if an event cannot be stored now, the request is refused.
 * @param reasons of ignored events, by index in the batch.
 * @param warnings the first of each accepted event that has one, by index in the batch.
 */
function* resultTexts(
  uuids: ReadonlyMap<string, string>,
  reasons: ReadonlyMap<number, Reason>,
  warnings: ReadonlyMap<number, Warning>,
): Generator<string, undefined> {
  let nth = 0;
  for (const uuid of uuids.values()) {
    const start = nth === 0 ? '{"results":{' : ",";
    yield `${start}"${uuid}":${resultText(reasons.get(nth), warnings.get(nth))}`;
    nth++;
  }
  yield "}}";
}

function resultText(reason: Reason | undefined, warning: Warning | undefined): string {
  if (reason) return `{"result":"drop","details":"${reason}"}`;
  if (warning === undefined || unaltered.has(warning)) return '{"result":"ok"}';
  return `{"result":"warning","details":"${warning}"}`;
}

/** Warnings of events that are stored as they were sent, which PostHog accepts without one. */
const unaltered = new Set<Warning>(["missing_current_url", "missing_screen_name", "missing_survey_id"]);
