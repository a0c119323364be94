// The console's two HTML pages, and what browsers may do in them. Neither has a script or a style of its own inside.

import { sendAsset, textAsset } from "../http/asset.ts";

/** The console. */
export function sendConsole(request: Request): Promise<Response> {
  return sendPage(consolePage, request, consolePolicy);
}

/** The player of recordings: in a frame of the console, and on its own at the address of a shared recording. */
export function sendPlayer(request: Request): Promise<Response> {
  return sendPage(playerPage, request, playerPolicy);
}

/** Whether the request is of a browser that opens an address, not of a program. */
export function wantsPage({ headers }: Request): boolean {
  return headers.get("accept")?.includes("text/html") ?? false;
}

function sendPage(html: string, request: Request, policy: string): Promise<Response> {
  const etag = `"${Bun.hash(html + policy).toString(36)}"`;
  return sendAsset(textAsset("text/html; charset=utf-8", html), request, {
    etag,
    "cache-control": "no-cache",
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    // Programs get another answer at the same address.
    vary: "accept, accept-encoding",
  });
}

const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * What was recorded is rebuilt in a frame that inherits this: its styles stand in it, its pictures only when they were
 * recorded too. It has no scripts, and fetches nothing from anywhere.
 */
const playerPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src data:",
  "connect-src 'self'",
  "frame-src 'self' about: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

function pageOf(name: string, title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/${name === "main" ? "style" : name}.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The <a href="/docs">API</a> does not.</noscript>
<script type="module" src="/console/assets/${name}.js"></script>
</body>
</html>
`;
}

const consolePage = pageOf("main", "Sluice");
const playerPage = pageOf("player", "Recording · Sluice");
