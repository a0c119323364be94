// Addresses that SDKs ask, from web pages too, and the ways their slashes are repeated. Knows no route.

/** First segments of what SDKs ask: events, recordings, configuration, flags, scripts. */
const roots: ReadonlySet<string> = new Set([
  "array",
  "batch",
  "capture",
  "decide",
  "e",
  "engage",
  "flags",
  "i",
  "s",
  "static",
  "track",
]);
/** The same below /api/, where the management API is. */
const belowApi: ReadonlySet<string> = new Set([
  "early_access_features",
  "product_tours",
  "surveys",
  "web_experiments",
]);

/** Whether SDKs ask this path, or one below it; single slashes only. */
export function isSdkPath(path: string): boolean {
  const [, first = "", second = ""] = path.split("/", 3);
  return first === "api" ? belowApi.has(second) : roots.has(first);
}

/** Whether a path is one of the management API, which takes personal keys and no page may read. */
export function isManagementPath(path: string): boolean {
  const single = withSingleSlashes(path);
  return (single === "/api" || single.startsWith("/api/")) && !isSdkPath(single);
}

/** The path of a request's address, as it is there. Who speaks HTTP/1.0 may name no host. */
export function pathOf(url: string): string {
  const from = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  const to = url.indexOf("?", from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

/** The path with each run of slashes as one. */
export function withSingleSlashes(path: string): string {
  return path.replace(/\/{2,}/g, "/");
}

/**
 * Patterns of a router for paths with repeated slashes, by their segments `:s1`, `:s2` …: up to four slashes in
 * front (a host that was written with some behind it), up to two elsewhere. What SDKs ask has four segments at most.
 */
export function repeatedSlashPatterns(): string[] {
  const patterns: string[] = [];
  for (let segments = 1; segments <= sdkSegmentsMax; segments++) {
    for (let leading = 1; leading <= leadingSlashesMax; leading++) {
      for (const between of pathsOf(`${"/".repeat(leading)}:s1`, 2, segments)) {
        for (const end of ["", "/", "//"]) patterns.push(`${between}${end}`);
      }
    }
  }
  return patterns.filter((pattern) => pattern.includes("//"));
}

/** `start` with the segments from number `from` on behind it, one or two slashes between them. */
function pathsOf(start: string, from: number, segments: number): string[] {
  if (from > segments) return [start];
  return ["/", "//"].flatMap((slashes) => pathsOf(`${start}${slashes}:s${from}`, from + 1, segments));
}

const sdkSegmentsMax = 4;
const leadingSlashesMax = 4;
