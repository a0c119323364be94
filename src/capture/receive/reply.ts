// What a sender of events is answered once they are kept.

import { corsHeaders } from "../../http/cors.ts";
import { plainHeaders } from "../../http/problem.ts";
import type { Captured } from "../pipeline.ts";

/** Says that recordings are over their quota, which here is none: posthog-js then pauses sending them. */
const noRecordings = '{"status":"Ok","quota_limited":["recordings"]}';
const plain = '{"status":"Ok"}';

/** All of it was taken, and nothing is to be told. */
export function usualReply(request: Request): Response {
  return replied(request, plain);
}

/** `tellsAll`: with what became of each odd event. */
export function captureReply(request: Request, captured: Captured, tellsAll = false): Response {
  if (tellsAll) return replied(request, verbose(captured));
  return replied(request, captured.recordingsUnwanted ? noRecordings : plain);
}

function replied(request: Request, text: string): Response {
  // Only browsers send an origin: all others get the same headers, made once.
  const headers = request.headers.has("origin") ? replyHeaders(request) : usualHeaders;
  return new Response(text, { headers });
}

/** With what lets a page read it. */
export function replyHeaders(request: Request): Record<string, string> {
  return { ...corsHeaders(request), "content-type": "application/json", ...plainHeaders };
}

const usualHeaders = new Headers(replyHeaders(new Request("http://localhost")));

function verbose({ accepted, ignored, warned }: Captured): string {
  const inOrder = <Listed extends { index: number }>(list: readonly Listed[]) =>
    list.toSorted((a, b) => a.index - b.index);
  return JSON.stringify({
    status: "Ok",
    accepted,
    ignored: inOrder(ignored.list),
    ignored_by_reason: Object.fromEntries(ignored.counts),
    warnings: inOrder(warned.list),
    warnings_by_reason: Object.fromEntries(warned.counts),
  });
}
