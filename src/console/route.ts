// The console over HTTP: its pages, signing in by a link, and the live stream. Everything else that the pages show
// comes from the API.

import { Elysia } from "elysia";
import { type Access, type Gate, keyInHeader } from "../access/gate.ts";
import { covers } from "../access/scope.ts";
import { Fault } from "../core/fault.ts";
import type { Log } from "../core/log.ts";
import { readQuery, textParameter } from "../http/fields/query.ts";
import { requestUrl } from "../http/pages/page.ts";
import { openPages } from "./bundle.ts";
import { sendConsole, sendPlayer, wantsPage } from "./page.ts";
import type { SignIn } from "./sign_in.ts";
import type { Streams } from "./stream.ts";

export interface ConsoleRoutes {
  gate: Gate;
  signIn: SignIn;
  streams: Streams;
  /** Whether anybody may read the metrics of the server. */
  openMetrics: boolean;
  log: Log;
}

const streamQuery = {
  event: textParameter("Only events of this name."),
  distinct_id: textParameter("Only events of this distinct id."),
};

export function consoleRoutes({ gate, signIn, streams, openMetrics, log }: ConsoleRoutes) {
  const hidden = { detail: { hide: true } } as const;
  const pages = openPages(log);
  const maySeeFigures = ({ key }: Access): boolean => openMetrics || covers(key.scopes, "*");
  return new Elysia({ name: "console" })
    .use(gate)
    .get(
      "/",
      ({ request }) =>
        // Programs see the description of the API, as they did before there was a console.
        wantsPage(request)
          ? sendConsole(request)
          : new Response(null, { status: 302, headers: { location: "/docs", vary: "accept" } }),
      hidden,
    )
    .get(
      "/console/player",
      ({ request }) => sendPlayer(request, requestUrl(request).searchParams.getAll("load")),
      hidden,
    )
    .get(
      "/console/assets/:name",
      async ({ request, params }) => {
        const found = await pages.answer(params.name, request);
        if (!found) throw new Fault("not_found", "The console has no such file.");
        return found;
      },
      hidden,
    )
    .post(
      "/console/sign_in",
      ({ request }) => {
        const code = keyInHeader(request.headers.get("authorization"))?.key ?? "";
        const reply = { personal_api_key: signIn.exchange(code) };
        return Response.json(reply, { headers: { "cache-control": "no-store" } });
      },
      { ...hidden, parse: "none" },
    )
    .get(
      "/console/stream/:project_id",
      ({ request, project, access, readmit }) => {
        const filter = readQuery(streamQuery, requestUrl(request).searchParams);
        const showsFigures = maySeeFigures(access);
        const follower = {
          key_id: access.key.id,
          showsFigures,
          isAllowed: async () => {
            const now = await readmit();
            return now?.project.id === project.id && maySeeFigures(now.access) === showsFigures;
          },
        };
        const followed = { project_id: project.id, ...filter };
        return streams.open(followed, follower, request.signal);
      },
      { ...hidden, project_scope: "query:read" },
    );
}
