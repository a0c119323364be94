// How events are sent: POST on any of PostHog's capture paths, or GET as a pixel, with and without a slash.

import { Elysia } from "elysia";
import { yieldToEventLoop } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { captureLimits } from "./limits.ts";
import { corsHeaders, preflight } from "../http/cors.ts";
import { ReceivedBody } from "./receive/received_body.ts";
import { type UploadBounds, announcedBytes, receiveShort } from "./receive/upload.ts";
import { looksLikeJson } from "./decode/decode.ts";
import { firstKey } from "./receive/first_key.ts";
import { type MemoryBudget, type MemoryLease, exhausted } from "../work/memory_budget.ts";
import { captureOperations } from "./model.ts";
import { type Sent, capture } from "./pipeline.ts";
import { captureReply, replyHeaders } from "./receive/reply.ts";
import {
  type AnswerOptions,
  type SingleEventContext,
  SingleEventRequest,
  captureRefusal,
} from "./receive/single_event_request.ts";
import { SingleEvents } from "./receive/single_event.ts";
import { ArenaPool } from "./receive/arena_pool.ts";
import { answerV1, v1Paths } from "./v1/answer.ts";
import { v1Operation } from "./v1/model.ts";

export interface CaptureRouteOptions extends AnswerOptions {
  bodyBytesMax: number;
  /** Of all request bodies of this process. */
  memory: MemoryBudget;
  /** The client's address, if it is known. */
  addressOf(request: Request): string | undefined;
  /** How long an upload may take, where not as usual. */
  uploadBounds?: UploadBounds;
}

/** What all requests share. */
interface CaptureContext extends SingleEventContext<Kind> {
  options: CaptureRouteOptions;
  arenas: ArenaPool;
  /** Announced bodies of fewer bytes are received whole and appended in one turn. */
  shortBytes: number;
}

/**
 * Browsers send recordings to /s, SDKs' wrappers of language models theirs to /i/v0/ai/batch; what is in a body
 * decides, not where it went.
 */
const paths = ["/capture", "/batch", "/e", "/track", "/engage", "/i/v0/e", "/i/v0/ai/batch", "/s"];

const spellings: ReadonlySet<string> = new Set([...paths, ...v1Paths].flatMap((path) => [path, `${path}/`]));
const methods: ReadonlySet<string> = new Set(["POST", "GET", "HEAD", "OPTIONS"]);

/** Whether captureRoutes answer it. */
export function isCapture({ method, url }: Request): boolean {
  // Who speaks HTTP/1.0 may name no host.
  return methods.has(method) && spellings.has(url.startsWith("/") ? (url.split("?")[0] ?? "") : pathOf(url));
}

export function captureRoutes(options: CaptureRouteOptions) {
  const app = new Elysia({ name: "capture" });
  // A POST is taken before an application that uses these routes looks for its own: the same answer, for a third less.
  const posts = new Map<string, (request: Request) => Promise<Response>>();
  app.wrap((handle, request) => (request.method === "POST" && posts.get(pathOf(request.url))) || handle);
  const hook = { parse: "none", detail: { hide: true } } as const;
  const arenas = new ArenaPool(options.bodyBytesMax);
  const shortBytes = Math.min(captureLimits.arenaBodyBytesMin, options.bodyBytesMax);
  const context: CaptureContext = {
    options,
    arenas,
    singles: new SingleEvents(arenas, options),
    shortBytes,
    answerShort: (from, body) => answerAny(from.request, from.kind, context, from.started, { from, body }),
  };
  for (const path of paths) {
    const kind: Kind = { nameless: path === "/engage", asBatch: path.endsWith("/batch") };
    const take = (request: Request) => answer(request, kind, context);
    for (const spelling of [path, `${path}/`]) {
      const detail = captureOperations[spelling] ?? hook.detail;
      posts.set(spelling, take);
      app.post(spelling, ({ request }) => take(request), { parse: "none", detail });
      app.get(spelling, ({ request }) => take(request), hook);
      app.head(spelling, ({ request }) => new Response(null, { headers: replyHeaders(request) }), hook);
      app.options(spelling, ({ request }) => preflight(request), hook);
    }
  }
  for (const spelling of v1Paths.flatMap((path) => [path, `${path}/`])) {
    const take = (request: Request) => answerV1(request, { options, arenas });
    posts.set(spelling, take);
    const detail = spelling === v1Paths[0] ? v1Operation : hook.detail;
    app.post(spelling, ({ request }) => take(request), { parse: "none", detail });
    app.options(spelling, ({ request }) => preflight(request), hook);
  }
  return app;
}

/** What a path says of the bodies sent there. */
type Kind = Required<Pick<Sent, "nameless" | "asBatch">>;

function answer(request: Request, kind: Kind, context: CaptureContext): Promise<Response> {
  const { options } = context;
  const announced = announcedBytes(request);
  const started = options.clock.elapsed();
  if (!(announced < context.shortBytes) || request.url.includes("?")) {
    return answerAny(request, kind, context, started);
  }
  if (!options.memory.acquireShort(announced)) {
    return Promise.resolve(captureRefusal(exhausted(), request, options));
  }
  return new Promise((resolve) => {
    const single = new SingleEventRequest(request, kind, announced, started, context, resolve);
    receiveShort(request, announced, options.uploadBounds, single);
  });
}

/** `short`: its body, if that is here, and counted; then it has no query. */
async function answerAny(
  request: Request,
  { nameless, asBatch }: Kind,
  { options, arenas }: CaptureContext,
  started: number,
  short?: { from: SingleEventRequest<Kind>; body: ReceivedBody },
): Promise<Response> {
  const lease = options.memory.open();
  const body = short?.body ?? new ReceivedBody(arenas);
  const query = short ? noQuery : queryOf(request.url);
  try {
    if (!short || !looksLikeJson(body.bytes)) {
      if (request.method === "GET" && !query.get("data")) throw withoutData();
      const first = (piece: Uint8Array) => lookAhead(piece, options, lease);
      await body.receive({ request, query, options, first, wire: short && body.bytes }, lease);
      // Of many that came in one turn, one is scanned in the next.
      if (body.bytes.length > captureLimits.slowSliceBytesMax) await yieldToEventLoop();
    }
    const sent_at = sentAtOf(body.sent_at ?? query.get("sent_at") ?? query.get("_"));
    const address = () => options.addressOf(request);
    const captured = await capture({ body, sent_at, nameless, asBatch, lease, address }, options);
    if (query.get("beacon") === "1") {
      return new Response(null, { status: 204, headers: corsHeaders(request) });
    }
    return captureReply(request, captured, query.get("verbose") === "1");
  } catch (thrown) {
    return captureRefusal(thrown, request, options);
  } finally {
    // Warnings are read out of it later where nobody waits for them.
    body.close(options.ack === "memory");
    lease.close();
    if (short) options.memory.releaseShort(short.from.announced);
    options.seconds((options.clock.elapsed() - started) / 1000);
  }
}

/** A GET has no body: a pixel's events are in its query. */
function withoutData(): Fault {
  const detail = 'Method "GET" not allowed without data in the query. Send events with POST.';
  return new Fault("method_not_allowed", detail, { allow: "POST, OPTIONS" });
}

/**
 * Looks for the key in the first bytes of a long body: what is held for it is its project's from then on.
 * @throws Fault invalid_api_key when no project has it: then nothing more of it is received or inflated.
 */
function lookAhead(
  piece: Uint8Array,
  { keys }: CaptureRouteOptions,
  lease: MemoryLease,
): Promise<void> | undefined {
  const key = looksLikeJson(piece) ? firstKey(piece) : undefined;
  if (key === undefined) return undefined;
  const known = keys.find(key);
  if (known === undefined) return keys.admit(key).then((project_id) => lease.assign(project_id));
  lease.assign(known);
  return undefined;
}

function pathOf(url: string): string {
  const from = url.indexOf("/", 8);
  const to = url.indexOf("?", from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

const noQuery = new URLSearchParams();

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf("?");
  return mark < 0 ? noQuery : new URLSearchParams(url.slice(mark + 1));
}

/**
 * Milliseconds later than 2020, as microseconds; anything else (also seconds) only keeps caches away: NaN.
 */
function sentAtOf(text: string | null): number {
  const millis = text && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return millis >= sentAtMillisMin ? millis * 1000 : Number.NaN;
}

const sentAtMillisMin = Date.UTC(2021, 0, 1);
