// The console's three HTML pages, and what browsers may do in them. None has an inline script or style.

import { isPublicHost, loadHostsMax } from "../core/public_host.ts";
import { pagePolicy, sendAsset, textAsset } from "../http/asset.ts";

export function sendConsole(request: Request): Promise<Response> {
  return sendPage(request, [consolePage, consolePolicy]);
}

/**
 * The player of recordings, in a frame of the console.
 * @param hosts whose images and style sheets it may load; those that are no public names are left out.
 */
export function sendPlayer(request: Request, hosts: readonly string[]): Promise<Response> {
  const loaded = hosts.filter(isPublicHost).slice(0, loadHostsMax);
  return sendPage(request, [playerPage, buildPlayerPolicy(loaded)], { isLoading: loaded.length > 0 });
}

/**
 * The page of a sharing link, for a browser: the player for a recording, the board for all else, with a 404 for an
 * unknown token. A program gets no page.
 */
export function sendShared(
  request: Request,
  kind: "recording" | "insight" | "dashboard" | undefined,
  embedHosts: readonly string[],
): Promise<Response> | undefined {
  if (!wantsPage(request)) return undefined;
  const page =
    kind === "recording"
      ? ([playerPage, buildPlayerPolicy([], embedHosts)] as const)
      : ([boardPage, buildConsolePolicy(embedHosts)] as const);
  return sendPage(request, page, { isSecret: true, status: kind === undefined ? 404 : 200 });
}

/** Whether the request is of a browser that opens an address, not of a program. */
export function wantsPage({ headers }: Request): boolean {
  return headers.get("accept")?.includes("text/html") ?? false;
}

interface PageOptions {
  /** Whether its address is a secret: it is neither cached nor indexed. */
  isSecret?: boolean;
  /** Whether it loads from other hosts: requests to them have no credentials. */
  isLoading?: boolean;
  status?: number;
}

async function sendPage(
  request: Request,
  [html, policy]: readonly [html: string, policy: string],
  { isSecret = false, isLoading = false, status = 200 }: PageOptions = {},
): Promise<Response> {
  const caching = isSecret
    ? { "cache-control": "no-store", "x-robots-tag": "noindex, nofollow" }
    : { "cache-control": "no-cache", etag: `"${Bun.hash(html + policy).toString(36)}"` };
  const reply = await sendAsset(textAsset("text/html; charset=utf-8", html), request, {
    ...caching,
    "content-security-policy": policy,
    ...(isLoading && { "cross-origin-embedder-policy": "credentialless" }),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    // Programs get another answer at the same address.
    vary: "accept, accept-encoding",
  });
  return status === 200 ? reply : new Response(reply.body, { status, headers: reply.headers });
}

/** @param embedHosts hosts whose pages may have it in a frame. */
function buildConsolePolicy(embedHosts: readonly string[]): string {
  return pagePolicy(["style-src 'self'", "img-src 'self' data:", "frame-src 'self'"], toSources(embedHosts));
}

/** Names that are no public hosts are left out: a policy's sources are parted by blanks. */
const toSources = (hosts: readonly string[], first = ""): string =>
  [first, ...hosts.filter(isPublicHost).map((host) => `https://${host}`)].filter(Boolean).join(" ") ||
  "'none'";

const consolePolicy = buildConsolePolicy([]);

/**
 * Recordings are rebuilt in a frame that inherits this policy: recorded styles and pictures are inline. It has no
 * scripts, and fetches nothing but images and style sheets of these hosts.
 */
function buildPlayerPolicy(hosts: readonly string[], embedHosts: readonly string[] = []): string {
  const loaded = hosts.map((host) => ` https://${host}`).join("");
  const styles = `style-src 'self' 'unsafe-inline'${loaded}`;
  const images = `img-src 'self' data: blob:${loaded}`;
  return pagePolicy(
    [styles, images, "font-src data:", "frame-src 'self' about: blob:"],
    toSources(embedHosts, "'self'"),
  );
}

function renderPage(name: string, title: string, style: string = name): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/${style}.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The <a href="/docs">API</a> does not.</noscript>
<script type="module" src="/console/assets/${name}.js"></script>
</body>
</html>
`;
}

const consolePage = renderPage("main", "Sluice", "style");
const playerPage = renderPage("player", "Recording · Sluice");
const boardPage = renderPage("shared", "A shared page · Sluice", "style");
