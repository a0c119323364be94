// The capture routes: POST on any of PostHog's capture paths, or GET as a pixel, with and without a slash at the end.

import { Elysia } from "elysia";
import { yieldToEventLoop } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { corsHeaders, preflight } from "../http/cors.ts";
import { capturePaths, readPath, v1Paths } from "../http/sdk_path.ts";
import { uploadLimits } from "../work/bodies/limits.ts";
import type { MemoryLease } from "../work/bodies/memory_budget.ts";
import { announcedBytes, receiveShort } from "../work/bodies/upload.ts";
import type { EndpointRules } from "./capture_options.ts";
import { looksLikeJson } from "./decode/decode.ts";
import { gunzipStart } from "./decode/inflate.ts";
import { captureLimits } from "./limits.ts";
import { captureOperations } from "./model.ts";
import { capture } from "./pipeline.ts";
import { ArenaPool, ReceivedBody } from "./receive/received_body.ts";
import { captureRefusal, captureReply, replyHeaders, verboseReply } from "./receive/reply.ts";
import {
  type AnswerOptions,
  type SingleEventContext,
  SingleEventRequest,
  SingleEventWriter,
} from "./receive/single_event.ts";
import { BodyScanner } from "./scan/body_scanner.ts";
import { readBodyKey, readEarlyKey } from "./scan/event_index.ts";
import { answerV1 } from "./v1/answer.ts";
import { v1Operation } from "./v1/model.ts";

/** Parts that all requests share. */
interface CaptureContext extends SingleEventContext {
  arenas: ArenaPool;
  /** Announced bodies of fewer bytes are received whole and appended in one turn. */
  shortBytes: number;
}

const listSpellings = (path: string) => [path, `${path}/`];
const spellings: ReadonlySet<string> = new Set(
  [...Object.keys(capturePaths), ...v1Paths].flatMap(listSpellings),
);
const methods: ReadonlySet<string> = new Set(["POST", "GET", "HEAD", "OPTIONS"]);

/** Whether captureRoutes() answer the request. */
export function isCapture({ method, url }: Request): boolean {
  return methods.has(method) && spellings.has(readPath(url));
}

/** The routes of capturePaths and of the v1 protocol; `options` are shared by all requests. */
export function captureRoutes(options: AnswerOptions) {
  const app = new Elysia({ name: "capture" });
  // A POST is answered before Elysia looks for its route: the reply is the same, and costs a third less.
  const posts = new Map<string, (request: Request) => Promise<Response>>();
  app.wrap(
    (handle, request) => (request.method === "POST" && posts.get(readAbsolutePath(request.url))) || handle,
  );
  const hook = { parse: "none", detail: { hide: true } } as const;
  const arenas = new ArenaPool(options.bodyBytesMax);
  const context: CaptureContext = {
    options,
    arenas,
    singles: new SingleEventWriter(arenas, options),
    shortBytes: Math.min(captureLimits.arenaBodyBytesMin, options.bodyBytesMax),
    answerShort: (single, body) =>
      answerAny(single.request, single.rules, context, single.started, { single, body }),
  };
  for (const [path, { allowsNameless = false, isForBatches = false }] of Object.entries(capturePaths)) {
    const rules: EndpointRules = { allowsNameless, isForBatches };
    const serve = (request: Request) => answer(request, rules, context);
    for (const spelling of listSpellings(path)) {
      const detail = captureOperations[spelling] ?? hook.detail;
      posts.set(spelling, serve);
      app.post(spelling, ({ request }) => serve(request), { parse: "none", detail });
      app.get(spelling, ({ request }) => serve(request), hook);
      app.head(spelling, ({ request }) => new Response(null, { headers: replyHeaders(request) }), hook);
      app.options(spelling, ({ request }) => preflight(request), hook);
    }
  }
  for (const spelling of v1Paths.flatMap(listSpellings)) {
    const serve = (request: Request) => answerV1(request, { options, arenas });
    posts.set(spelling, serve);
    const detail = spelling === v1Paths[0] ? v1Operation : hook.detail;
    app.post(spelling, ({ request }) => serve(request), { parse: "none", detail });
    app.options(spelling, ({ request }) => preflight(request), hook);
  }
  return app;
}

function answer(request: Request, rules: EndpointRules, context: CaptureContext): Promise<Response> {
  const { options } = context;
  const announced = announcedBytes(request);
  const started = options.clock.elapsed();
  if (!(announced < context.shortBytes)) return answerAny(request, rules, context, started);
  return new Promise((resolve) => {
    const single = new SingleEventRequest(request, rules, announced, started, context, resolve);
    receiveShort(request, single, options.uploadBounds);
  });
}

/** @param short a short body that has arrived and whose memory is acquired. */
async function answerAny(
  request: Request,
  rules: EndpointRules,
  { options, arenas }: CaptureContext,
  started: number,
  short?: { single: SingleEventRequest; body: ReceivedBody },
): Promise<Response> {
  const lease = short?.single.lease ?? options.memory.open(announcedBytes(request));
  const body = short?.body ?? new ReceivedBody(arenas);
  const query = readQuery(request.url);
  try {
    const inQuery = query.get("data");
    if (!short || inQuery || !looksLikeJson(body.bytes)) {
      // A GET has no body: a pixel's events are in its query.
      if (request.method === "GET" && !inQuery)
        throw new Fault("method_not_allowed", noDataDetail, { allow: "POST, OPTIONS" });
      const admit = (chunk: Uint8Array) => admitByFirstKey(chunk, { options, arenas }, lease);
      const wire = inQuery ? undefined : short?.body.bytes;
      await body.receive({ request, query, options, admit, wire }, lease);
      // Each further turn of the event loop scans one of many long bodies that arrive in one turn.
      if (body.bytes.length > captureLimits.slowSliceBytesMax) await yieldToEventLoop();
    }
    const sent_at = readSentAt(body.sent_at ?? query.get("sent_at") ?? query.get("_"));
    const address = () => options.readAddress(request);
    const isVerbose = query.get("verbose") === "1";
    const captured = await capture({ ...rules, body, sent_at, isVerbose, lease, address }, options);
    if (query.get("beacon") === "1") {
      return new Response(null, { status: 204, headers: corsHeaders(request) });
    }
    return isVerbose
      ? await verboseReply(request, captured)
      : captureReply(request, captured.recordingsUnwanted);
  } catch (thrown) {
    return captureRefusal(thrown, request, options);
  } finally {
    body.close();
    lease.close();
    options.observeSeconds((options.clock.elapsed() - started) / 1000);
  }
}

const noDataDetail = 'Method "GET" not allowed without data in the query. Send events with POST.';

/**
 * Looks for the key in the first bytes of a body, plain or in gzip. From then on its memory counts for its project.
 * @throws Fault invalid_api_key when no project has the key: the rest of the body is not received or inflated.
 */
function admitByFirstKey(
  chunk: Uint8Array,
  { options: { keys }, arenas }: Pick<CaptureContext, "options" | "arenas">,
  lease: MemoryLease,
): Promise<void> | undefined {
  const start = looksLikeJson(chunk) ? chunk : gunzipStart(chunk);
  const key = looksLikeJson(start) ? firstKey(start, arenas) : undefined;
  if (key === undefined) return undefined;
  const known = keys.find(key);
  if (known === undefined) return keys.admit(key).then((project_id) => lease.assign(project_id));
  lease.assign(known);
  return undefined;
}

/**
 * The key that decides the project of a body, if its first chunk is certain to have it: a batch's own, that of the
 * first event in an array, or any in a whole body. Undefined when the key lies further on, or the bytes are not JSON.
 */
export function firstKey(chunk: Uint8Array, { short: fast }: ArenaPool): string | undefined {
  const copied = fast.copy(chunk.subarray(0, fast.body.length));
  const key = keyIn(new BodyScanner(copied, { fast, indexesAll: true }, fast.open()));
  if (key !== undefined || chunk.length <= copied.length) return key;
  return keyIn(new BodyScanner(chunk.subarray(0, uploadLimits.firstChunkBytes), { indexesAll: true }, 0));
}

function keyIn(scanner: BodyScanner): string | undefined {
  try {
    while (readEarlyKey(scanner.index) === undefined)
      if (scanner.advance(searchBytes)) return readBodyKey(scanner.index);
  } catch (thrown) {
    // The chunk ends within a value, or is malformed: the scan of the whole body finds out.
    if (!(thrown instanceof Fault)) throw thrown;
  }
  return readEarlyKey(scanner.index);
}

/** Bytes after which the key may be known: most bodies begin with it. */
const searchBytes = 4096;

/** Variant of readPath(), for every POST: its URL has a host, put there by the server. */
function readAbsolutePath(url: string): string {
  const from = url.indexOf("/", 8);
  const to = url.indexOf("?", from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

const noQuery = new URLSearchParams();

function readQuery(url: string): URLSearchParams {
  const from = url.indexOf("?");
  return from < 0 ? noQuery : new URLSearchParams(url.slice(from + 1));
}

/**
 * A time in ms since 1970, from 2021 on, as microseconds; NaN for any other text (also seconds), which clients send to
 * bypass caches.
 */
function readSentAt(text: string | null): number {
  const millis = text && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return millis >= sentAtMillisMin ? millis * 1000 : Number.NaN;
}

const sentAtMillisMin = Date.UTC(2021, 0, 1);
