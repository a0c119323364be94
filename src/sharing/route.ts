// Opens a link: a page for browsers, and its content as JSON for the page itself and for programs.

import { Elysia } from "elysia";
import { openRateLimit } from "../access/rate.ts";
import type { Secrets } from "../access/secret.ts";
import { readFields } from "../http/body.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { readQuery } from "../http/fields/query.ts";
import { LongReply } from "../http/pages/long_reply.ts";
import { requestUrl } from "../http/pages/page.ts";
import { slicedTexts } from "../http/pages/sliced.ts";
import { sharingLimits } from "./limits.ts";
import { type SharedKind, unlockBody } from "./model.ts";
import { issuePass, type LinkGuard } from "./passwords.ts";
import { openSharedResults, type ResultOptions, type ShownBoard } from "./results.ts";
import type { SharedLink } from "./store.ts";
import { type LinkCache, openLinkCache, type SharingParts } from "./tokens.ts";

export function openSharing(parts: Omit<SharingParts, "links" | "guard">): Omit<SharingParts, "guard"> {
  return { ...parts, links: openLinkCache(parts.sql, parts.clock, parts.secrets) };
}

interface SharedRouteOptions extends ResultOptions {
  links: LinkCache;
  secrets: Secrets;
  guard: LinkGuard;
  /** Shows the recording of a link. */
  recording: (link: SharedLink) => Promise<object>;
  /** The page of a kind, or the one for an invalid token; undefined for a program's request. */
  page: (
    request: Request,
    kind: SharedKind | undefined,
    embedHosts: readonly string[],
  ) => Promise<Response> | undefined;
}

/** Headers of every answer: the address is a secret, and the content is for no cache or index. */
export const linkHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow",
  "x-content-type-options": "nosniff",
  vary: "accept",
} as const;

/** No API key is needed: the token is one. */
export function sharedRoutes({ links, secrets, guard, recording, page, ...options }: SharedRouteOptions) {
  const results = openSharedResults(options);
  const rate = openRateLimit(sharingLimits.requestsPerMinuteMax, options.clock);
  const opened = options.metrics.registry.counters<SharedKind | "nothing">(
    "sluice_links_opened_total",
    "Requests with the token of a link, by what it opened.",
    "kind",
  );
  const shownBoard = async (link: SharedLink, request: Request): Promise<Response> => {
    const board = await results.show(link);
    if (!board) throw notFound();
    const { computed_at, content } = board;
    const etag = `"${Bun.hash(JSON.stringify([link.id, computed_at, content])).toString(36)}"`;
    const headers = { ...linkHeaders, etag };
    if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    const reply = await slicedTexts(boardTexts(link.kind, board));
    for (const [header, value] of Object.entries(headers)) reply.headers.set(header, value);
    return reply instanceof LongReply ? reply.admit(`link ${link.id}`) : reply;
  };
  const hidden = { detail: { hide: true } } as const;
  return new Elysia({ name: "shared" })
    .get(
      "/shared/:token/",
      async ({ params, request, set }) => {
        Object.assign(set.headers, linkHeaders);
        const known = await links.find(params.token);
        opened.of(known?.kind ?? "nothing").value++;
        if (known) readQuery({}, requestUrl(request).searchParams);
        const shell = page(request, known?.kind, known ? listFraming(known, request) : []);
        if (shell) return await shell;
        const link = present(await links.open(params.token, request));
        rate.count(String(link.id));
        const shown = await (link.kind === "recording" ? recording(link) : shownBoard(link, request));
        // It may have ended, or got a password, while its results were computed.
        present(await links.open(params.token, request));
        return shown;
      },
      hidden,
    )
    .post(
      "/shared/:token/",
      async ({ params, request, set }) => {
        Object.assign(set.headers, linkHeaders);
        const link = present(await links.find(params.token));
        const { password } = await readFields(request, unlockBody);
        // It counts tries itself: those of strangers are none of the requests of people who have a pass.
        const opened = { link, token: params.token };
        return { shareToken: await issuePass({ ...options, secrets, guard }, request, opened, password) };
      },
      { ...hidden, parse: "none" },
    )
    .get(
      // The player of a recording requests this every few seconds, since it read the recording at once.
      "/shared/:token/alive/",
      async ({ params, request, set }) => {
        Object.assign(set.headers, linkHeaders);
        const link = present(await links.open(params.token, request));
        readQuery({}, requestUrl(request).searchParams);
        rate.count(String(link.id));
        return new Response(null, { status: 204 });
      },
      hidden,
    );
}

/**
 * The hosts that may have the page in a frame. A link with a password names only the one that frames it, by the Referer
 * that browsers send: its form must be shown there, and a stranger learns no host that it does not name itself.
 */
function listFraming({ embed_hosts, password_ids }: SharedLink, { headers }: Request): string[] {
  if (password_ids === null) return embed_hosts;
  const framing = URL.parse(headers.get("referer") ?? "")?.host;
  return embed_hosts.filter((host) => host === framing);
}

/** The current tiles, with the results that were computed last. */
function* boardTexts(kind: SharedKind, { board: { timezone, insights }, computed_at, content }: ShownBoard) {
  const { name, description, tiles } = content;
  yield `${openObject({ kind, name, description, timezone, computed_at: computed_at.toISOString() })},"tiles":[`;
  for (const [id, { insight_id, text, layouts }] of tiles.entries()) {
    if (id > 0) yield ",";
    if (insight_id === null) yield JSON.stringify({ id, layouts, text });
    else {
      yield `${openObject({ id, layouts })},`;
      yield* insights.get(insight_id) ?? [notComputed];
    }
  }
  yield "]}";
}

/** The object as JSON without its last bracket. */
function openObject(members: object): string {
  return JSON.stringify(members).slice(0, -1);
}

/** An insight in the form of WrittenBoard's. */
const notComputed = JSON.stringify({
  name: "Insight",
  description: "",
  results: [],
  error: "Its results are computed with those of the others, within 15 minutes.",
}).slice(1);
