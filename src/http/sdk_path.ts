// Paths that SDKs request, from web pages too, and their spellings with repeated slashes.

import { wordsIn } from "../core/words.ts";

/**
 * Paths at which events are captured, and how such a body is read: without names, or all of it as a batch. Browsers
 * send recordings to /s, and SDKs' wrappers of language models send events to /i/v0/ai/batch. Whether a body holds
 * events or recordings follows from the body, not from the path.
 */
export const capturePaths: Readonly<Record<string, { allowsNameless?: true; isForBatches?: true }>> = {
  "/capture": {},
  "/e": {},
  "/i/v0/e": {},
  "/i/v0/ai/batch": { isForBatches: true },
  "/track": {},
  "/engage": { allowsNameless: true },
  "/batch": { isForBatches: true },
  "/s": {},
};

/** Paths of PostHog's v1 protocol: SDKs send events of language models to the second, in the same format. */
export const v1Paths = ["/i/v1/analytics/events", "/i/v1/ai/events"];

/** First segments of SDKs' paths: events, and recordings, configuration, flags, scripts. */
const roots: ReadonlySet<string> = new Set([
  ...[...Object.keys(capturePaths), ...v1Paths].map((path) => path.split("/")[1]!),
  ...wordsIn("array decide flags static"),
]);
/** Second segments of these paths below /api/, where the management API is too. */
const belowApi: ReadonlySet<string> = new Set(
  wordsIn("early_access_features product_tours surveys web_experiments"),
);

/** Whether SDKs request this path, or one below it. The path must have single slashes. */
export function isSdkPath(path: string): boolean {
  const [, first = "", second = ""] = path.split("/", 3);
  return first === "api" ? belowApi.has(second) : roots.has(first);
}

/**
 * Whether pages of any origin may read the answers: not of the management API and the console, which take sessions, nor
 * of links, which are secret.
 */
export function isForAnyOrigin(path: string): boolean {
  const single = withSingleSlashes(path);
  return isSdkPath(single) || !/^\/(api(\/|$)|(shared|console)\/)/.test(single);
}

/** The path in a request's URL, unchanged. A request of HTTP/1.0 may have a URL without a host. */
export function readPath(url: string): string {
  const from = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  const to = url.indexOf("?", from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

export function withSingleSlashes(path: string): string {
  return path.replace(/\/{2,}/g, "/");
}

/**
 * Router patterns for paths with repeated slashes, with segments `:s1`, `:s2` …: up to four slashes in front, as of a
 * host configured with trailing slashes, and up to two elsewhere. SDK paths have four segments at most.
 */
export function repeatedSlashPatterns(): string[] {
  const patterns: string[] = [];
  for (let segments = 1; segments <= sdkSegmentsMax; segments++) {
    for (let leading = 1; leading <= leadingSlashesMax; leading++) {
      for (const between of listPaths(`${"/".repeat(leading)}:s1`, 2, segments)) {
        for (const end of ["", "/", "//"]) patterns.push(`${between}${end}`);
      }
    }
  }
  return patterns.filter((pattern) => pattern.includes("//"));
}

/** `start` followed by the segments from number `from` on, with one or two slashes between them. */
function listPaths(start: string, from: number, segments: number): string[] {
  if (from > segments) return [start];
  return ["/", "//"].flatMap((slashes) => listPaths(`${start}${slashes}:s${from}`, from + 1, segments));
}

const sdkSegmentsMax = 4;
const leadingSlashesMax = 4;
