// What SDKs ask when they start: configuration, flags, surveys. Never says of a project more than that its key is
// known and whether it wants recordings.

import { Elysia } from "elysia";
import type { Gate } from "../access/gate.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { Fault } from "../core/fault.ts";
import { newUuid } from "../core/id.ts";
import { preflight, withCors } from "../http/cors.ts";
import { problemResponse } from "../http/problem.ts";
import { ScriptBundles } from "./script_bundles.ts";
import {
  emptyLists,
  namedConfig,
  notKept,
  noFlagDefinitions,
  noFlags,
  remoteConfig,
  remoteConfigScript,
} from "./model.ts";

export interface RemoteConfigRoutes {
  gate: Gate;
  keys: ProjectKeys;
  /** The project key that a request for flags names, in its query or its body. */
  tokenOf(request: Request): Promise<string | undefined>;
  /** posthog-js; undefined where it is not installed. */
  library(): Promise<Uint8Array> | undefined;
}

/** As PostHog's: a change of settings reaches every page within five minutes. */
const cached = { "cache-control": "public, max-age=300" };
const scriptHeaders = { "content-type": "text/javascript; charset=utf-8", ...cached };

export function remoteConfigRoutes({ gate, keys, tokenOf, library }: RemoteConfigRoutes) {
  const app = new Elysia({ name: "remote_config" });
  const open = (path: string, answer: (request: Request, token: string) => Promise<Response> | Response) => {
    // Without a parameter in its path, a route has no params at all.
    const answered = ({ request, params }: { request: Request; params?: { token?: string } }) =>
      shared(request, () => answer(request, params?.token ?? ""));
    const unread = { parse: "none", detail: { hide: true } } as const;
    app.get(path, answered, unread);
    app.post(path, answered, unread);
    app.options(path, ({ request }) => preflight(request), unread);
  };
  open("/array/:token/config.js", async (_, token) => {
    const { key, records } = await known(keys, token);
    return new Response(remoteConfigScript(key, records), { headers: scriptHeaders });
  });
  const bundles = new ScriptBundles();
  // What the snippet of newer projects loads: the configuration and posthog-js at once.
  open("/array/:token/array.js", async (request, token) => {
    const { key, records } = await known(keys, token);
    const script = library();
    if (!script) throw new Fault("not_found", "posthog-js is not installed beside this server.");
    return await bundles.reply(request, remoteConfigScript(key, records), await script, scriptHeaders);
  });
  open("/array/:token/config", async (_, token) => {
    const { key, records } = await known(keys, token);
    return json(namedConfig(key, records), { headers: cached });
  });
  // Older SDKs expect the configuration beside the flags; some ask for it, /decide always had it.
  const flagsWithConfig = async (request: Request) => {
    const records = await wantsRecordings(keys, await tokenOf(request));
    return json({ ...remoteConfig(records), ...noFlags(newUuid()) });
  };
  open("/flags/", (request) =>
    queryOf(request).get("config") === "true" ? flagsWithConfig(request) : json(noFlags(newUuid())),
  );
  open("/decide/", flagsWithConfig);
  for (const [path, empty] of Object.entries(emptyLists)) {
    open(`${path}/`, async (request) => {
      const token = queryOf(request).get("token");
      if (token !== null) await keys.admit(token);
      return json(empty);
    });
  }
  refuseUnkept(open);
  return app.use(definitionRoutes(gate));
}

/** A refusal for good: SDKs send again what meets 5xx, 408 or 429, or no answer that a page may read. */
function refuseUnkept(open: (path: string, answer: () => Response) => void): void {
  for (const [path, what] of Object.entries(notKept)) {
    const refusal = new Fault("not_found", `${what} are not kept here. Do not send them again.`);
    open(`${path}/`, () => problemResponse(refusal));
  }
}

/** Flags for servers that compute them themselves, in the newer place and the older one. */
function definitionRoutes(gate: Gate) {
  const app = new Elysia({ name: "flag_definitions" }).use(gate);
  for (const path of ["/flags/definitions/", "/api/feature_flag/local_evaluation/"]) {
    app.get(path, () => noFlagDefinitions, { scope: "feature_flag:read", detail: { hide: true } });
  }
  return app;
}

/** The key, when a project has it, and what the project wants. @throws Fault not_found when none has. */
async function known(keys: ProjectKeys, token: string): Promise<{ key: string; records: boolean }> {
  try {
    const records = keys.records(await keys.admit(token));
    return { key: token.trim(), records };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "invalid_api_key") throw thrown;
    throw new Fault("not_found", "No project has this API key.");
  }
}

/** There are no flags, whatever the key is; with one that no project has, there are no recordings either. */
async function wantsRecordings(keys: ProjectKeys, token: string | undefined): Promise<boolean> {
  if (token === undefined) return false;
  try {
    return keys.records(await keys.admit(token));
  } catch (thrown) {
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}

/** Any page may read the answer, a refusal as well. */
async function shared(request: Request, answer: () => Promise<Response> | Response): Promise<Response> {
  return withCors(request, await refusing(answer));
}

async function refusing(answer: () => Promise<Response> | Response): Promise<Response> {
  try {
    return await answer();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return problemResponse(thrown);
  }
}

function json(value: object, init: ResponseInit = {}): Response {
  return Response.json(value, init);
}

function queryOf(request: Request): URLSearchParams {
  return new URL(request.url).searchParams;
}
