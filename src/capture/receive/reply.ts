// Replies to senders of events: that events are accepted, or why not.

import { Fault, type FaultCode } from "../../core/fault.ts";
import { corsHeaders, withCors } from "../../http/cors.ts";
import { jsonChunks } from "../../http/pages/json_parts.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import { slicedTexts } from "../../http/pages/sliced.ts";
import { plainHeaders, problemResponse } from "../../http/problem.ts";
import type { CaptureResult } from "../capture_options.ts";

/** Makes posthog-js pause its recording, as over a quota. */
const noRecordings = '{"status":"Ok","quota_limited":["recordings"]}';
const plain = '{"status":"Ok"}';

export function captureReply(request: Request, recordingsUnwanted = false): Response {
  // Only browsers send an origin: all others get the same headers, made once.
  const headers = request.headers.has("origin") ? replyHeaders(request) : usualHeaders;
  return new Response(recordingsUnwanted ? noRecordings : plain, { headers });
}

/**
 * Variant of captureReply(), with ignored events and warnings (`?verbose=1`). Where there is no memory for their lists
 * they are counted only: the events are accepted, and must not be sent again.
 */
export async function verboseReply(request: Request, result: CaptureResult): Promise<Response> {
  try {
    return await listReply(request, jsonChunks(verbose(result), 2), result.project_id);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const counted = JSON.stringify({ ...verbose(result), ignored: [], warnings: [] });
    return new Response(counted, { headers: replyHeaders(request) });
  }
}

/** A reply as long as its body had events. @throws Fault unavailable when too many are being read. */
export async function listReply(
  request: Request,
  texts: Iterable<string | Uint8Array>,
  project_id: number,
): Promise<Response> {
  const reply = await slicedTexts(texts, replyHeaders(request));
  return reply instanceof LongReply ? reply.admit(`captures of ${project_id}`) : reply;
}

/** Headers of a reply, with those that let a web page read it. */
export function replyHeaders(request: Request): Record<string, string> {
  return { ...corsHeaders(request), "content-type": "application/json", ...plainHeaders };
}

const usualHeaders = new Headers(replyHeaders(new Request("http://localhost")));

function verbose({ accepted, ignored, warned }: CaptureResult): object {
  const inOrder = <Listed extends { index: number }>(list: readonly Listed[]) =>
    list.toSorted((a, b) => a.index - b.index);
  return {
    status: "Ok",
    accepted,
    ignored: inOrder(ignored.list),
    ignored_by_reason: Object.fromEntries(ignored.counts),
    warnings: inOrder(warned.list),
    warnings_by_reason: Object.fromEntries(warned.counts),
  };
}

export interface RefusalOptions {
  refused(code: FaultCode): void;
  /** The answer to a request that failed for no fault of its own. */
  failed(thrown: unknown, request: Request): Response;
}

/** The reply to a request that was refused or failed. @param more fields of its body besides the usual ones. */
export function captureRefusal(
  thrown: unknown,
  request: Request,
  { refused, failed }: RefusalOptions,
  more?: (fault: Fault) => Record<string, string>,
): Response {
  if (!(thrown instanceof Fault)) return failed(thrown, request);
  refused(thrown.code);
  const problem = problemResponse(thrown, more?.(thrown));
  // The rest of a late body is not read: its connection cannot be used again.
  if (thrown.code === "upload_timeout") problem.headers.set("connection", "close");
  return withCors(request, problem);
}
