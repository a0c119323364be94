// How events are sent: POST on any of PostHog's capture paths, or GET as a pixel, with and without a slash.
// Holds no logic of its own.

import { Elysia } from "elysia";
import { limits } from "../core/limits.ts";
import { corsHeaders, preflight } from "../http/cors.ts";
import { type UploadBounds, announcedBytes, receiveBody, receiveShort } from "./body.ts";
import { type Hints, copyPieces, decodeBody, joined, looksLikeJson } from "./decode.ts";
import { captureOperations } from "./model.ts";
import { type Sent, capture } from "./pipeline.ts";
import { reply, replyHeaders } from "./reply.ts";
import { type AnswerOptions, ShortRequest, refusal } from "./short.ts";
import { Singles } from "./single.ts";
import type { Slab } from "./slab.ts";
import { Slabs } from "./slabs.ts";

export interface CaptureRouteOptions extends AnswerOptions {
  bodyBytesMax: number;
  /** How long an upload may take, where not as usual. */
  uploadBounds?: UploadBounds;
}

/** What all requests share. */
interface Desk {
  options: CaptureRouteOptions;
  slabs: Slabs;
  singles: Singles;
  /** Announced bodies of fewer bytes are received whole and laid in one turn. */
  shortBytes: number;
}

/**
 * Browsers send recordings to /s, SDKs' wrappers of language models theirs to /i/v0/ai/batch; what is in a body
 * decides, not where it went.
 */
const paths = ["/capture", "/batch", "/e", "/track", "/engage", "/i/v0/e", "/i/v0/ai/batch", "/s"];

const spellings: ReadonlySet<string> = new Set(paths.flatMap((path) => [path, `${path}/`]));
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
  const slabs = new Slabs(options.bodyBytesMax);
  const shortBytes = Math.min(limits.slabBodyBytesMin, options.bodyBytesMax);
  const desk: Desk = { options, slabs, singles: new Singles(slabs.short, options), shortBytes };
  for (const path of paths) {
    const kind: Kind = { nameless: path === "/engage", asBatch: path.endsWith("/batch") };
    const take = (request: Request) => answer(request, kind, desk);
    for (const spelling of [path, `${path}/`]) {
      const detail = captureOperations[spelling] ?? hook.detail;
      posts.set(spelling, take);
      app.post(spelling, ({ request }) => take(request), { parse: "none", detail });
      app.get(spelling, ({ request }) => take(request), hook);
      app.head(spelling, ({ request }) => new Response(null, { headers: replyHeaders(request) }), hook);
      app.options(spelling, ({ request }) => preflight(request), hook);
    }
  }
  return app;
}

/** What a path says of the bodies sent there. */
type Kind = Required<Pick<Sent, "nameless" | "asBatch">>;

function answer(request: Request, kind: Kind, desk: Desk): Promise<Response> {
  const announced = announcedBytes(request);
  const started = desk.options.clock.elapsed();
  if (!(announced < desk.shortBytes) || request.url.includes("?")) {
    return answerAny(request, kind, desk, started);
  }
  return new Promise((resolve) => {
    const handOn = (body: Uint8Array) => answerAny(request, kind, desk, started, body);
    const short = new ShortRequest(
      { request, started, singles: desk.singles, options: desk.options },
      resolve,
      handOn,
    );
    receiveShort(request, announced, desk.options.uploadBounds, short);
  });
}

/** `whole`: its short body, if that is here. */
async function answerAny(
  request: Request,
  { nameless, asBatch }: Kind,
  { options, slabs }: Desk,
  started: number,
  whole?: Uint8Array,
): Promise<Response> {
  const place: Place = { slabs, slab: undefined };
  try {
    if (whole && looksLikeJson(whole)) {
      const sent = { body: whole, sent_at: Number.NaN, nameless, asBatch, lent: slabs.lend(whole) };
      return reply(request, await capture(sent, options));
    }
    const query = queryOf(request.url);
    const wire = whole ?? (await wireOf(request, announcedBytes(request), query, options, place));
    const { pieces, sent_at } = await decodeBody(wire, hintsOf(request, query));
    const body = await inSlab(pieces, place);
    const sentAt = sentAtOf(sent_at ?? query.get("sent_at") ?? query.get("_"));
    const captured = await capture(
      { body, sent_at: sentAt, nameless, asBatch, slab: place.slab, lent: slabs.lend(body) },
      options,
    );
    if (query.get("beacon") === "1") {
      return new Response(null, { status: 204, headers: corsHeaders(request) });
    }
    return reply(request, captured, query.get("verbose") === "1");
  } catch (thrown) {
    return refusal(thrown, request, options);
  } finally {
    if (place.slab) slabs.give(place.slab);
    options.seconds((options.clock.elapsed() - started) / 1000);
  }
}

/** Where a body is kept: in a slab, if it is worth one and there is one. */
interface Place {
  slabs: Slabs;
  slab: Slab | undefined;
}

/** The `data` of the query if there is any, else the body. */
async function wireOf(
  request: Request,
  announced: number,
  query: URLSearchParams,
  { bodyBytesMax, uploadBounds }: CaptureRouteOptions,
  place: Place,
): Promise<Uint8Array> {
  if (announced > limits.wholeBodyBytesMax && announced < bodyBytesMax) {
    place.slab = place.slabs.take(announced);
  }
  const inQuery = query.get("data");
  if (inQuery) return Buffer.from(inQuery);
  return await receiveBody(request, bodyBytesMax, uploadBounds, place.slab?.body);
}

function hintsOf({ headers }: Request, query: URLSearchParams): Hints {
  return {
    encoding: query.get("data") ? null : headers.get("content-encoding"),
    compression: query.get("compression"),
    contentType: headers.get("content-type"),
  };
}

/** The body where the fast scan can work on it: copied there, unless it is there or too short for that. */
async function inSlab(pieces: readonly Uint8Array[], place: Place): Promise<Uint8Array> {
  const [first = new Uint8Array(0)] = pieces;
  if (place.slab?.body.buffer === first.buffer && place.slab.body.byteOffset === first.byteOffset) {
    return place.slab.close(first.length);
  }
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (place.slab && place.slab.body.length < bytes) {
    place.slabs.give(place.slab);
    place.slab = undefined;
  }
  const isLong = bytes >= limits.slabBodyBytesMin;
  if (isLong) place.slab ??= place.slabs.take(bytes);
  if (!isLong || !place.slab) return pieces.length === 1 ? first : await joined(pieces);
  await copyPieces(pieces, place.slab.body);
  return place.slab.close(bytes);
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
