// Answers what SDKs request when they start: configuration, flags, surveys. The replies are public, so they show only
// whether the project's key exists and whether it wants recordings.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { membershipLevels } from "../access/people/levels.ts";
import type { ProjectKeys } from "../access/project_keys.ts";
import { Fault } from "../core/fault.ts";
import { newUuid } from "../core/id.ts";
import { type Asset, makeAsset, sendAsset } from "../http/asset.ts";
import { preflight, withCors } from "../http/cors.ts";
import { parameter, readQuery } from "../http/fields/query.ts";
import { problemResponse } from "../http/problem.ts";
import { putNewest } from "../work/maps.ts";
import {
  emptyLists,
  namedConfig,
  noFlagDefinitions,
  noFlags,
  noPayload,
  notKept,
  type Recorded,
  remoteConfig,
  remoteConfigScript,
} from "./model.ts";

/** PostHog's value: a change of settings reaches every page within five minutes. */
const cached = { "cache-control": "public, max-age=300" };
const scriptType = "text/javascript; charset=utf-8";

/** Compressed scripts of a configuration and posthog-js that are cached, 120 kB each. */
const scriptsMax = 64;

/**
 * @param readToken the project key that a request for flags names, in its query or its body.
 * @param library the script of posthog-js; undefined when it is not installed.
 */
export function remoteConfigRoutes(
  gate: Gate,
  keys: ProjectKeys,
  readToken: (request: Request) => Promise<string | undefined>,
  library: () => Promise<Uint8Array> | undefined,
) {
  const app = new Elysia({ name: "remote_config" });
  const open = (path: string, answer: (request: Request, token: string) => Promise<Response> | Response) => {
    // Elysia sets no params for a path without parameters.
    const answered = ({ request, params }: { request: Request; params?: { token?: string } }) =>
      shared(request, () => answer(request, params?.token ?? ""));
    const unread = { parse: "none", detail: { hide: true } } as const;
    app.get(path, answered, unread);
    app.post(path, answered, unread);
    app.options(path, ({ request }) => preflight(request), unread);
  };
  open("/array/:token/config.js", async (_, token) => {
    const { key, recorded } = await known(keys, token);
    const headers = { "content-type": scriptType, ...cached };
    return new Response(remoteConfigScript(key, recorded), { headers });
  });
  const scriptOf = openScripts();
  // Newer snippets load the configuration and posthog-js in one script.
  open("/array/:token/array.js", async (request, token) => {
    const { key, recorded } = await known(keys, token);
    const script = library();
    if (!script) throw new Fault("not_found", "posthog-js is not installed with this server.");
    return await sendAsset(scriptOf(remoteConfigScript(key, recorded), await script), request, cached);
  });
  open("/array/:token/config", async (_, token) => {
    const { key, recorded } = await known(keys, token);
    return Response.json(namedConfig(key, recorded), { headers: cached });
  });
  // Older SDKs expect the configuration with the flags: in /decide always, in /flags with config=true.
  const flagsWithConfig = async (request: Request) => {
    const recorded = await findRecorded(keys, await readToken(request));
    return Response.json({ ...remoteConfig(recorded), ...noFlags(newUuid()) });
  };
  open("/flags/", (request) =>
    readParams(request).get("config") === "true"
      ? flagsWithConfig(request)
      : Response.json(noFlags(newUuid())),
  );
  open("/decide/", flagsWithConfig);
  for (const [path, empty] of Object.entries(emptyLists)) {
    open(`${path}/`, async (request) => {
      const token = readParams(request).get("token");
      if (token !== null) await keys.admit(token);
      return Response.json(empty);
    });
  }
  // 404 with CORS headers: SDKs retry after 5xx, 408 and 429, and when a page may not read the answer.
  for (const [path, what] of Object.entries(notKept)) {
    const refusal = new Fault("not_found", `${what} are not stored here. Do not send them again.`);
    open(`${path}/`, () => problemResponse(refusal));
  }
  return app.use(definitionRoutes(gate));
}

/** A configuration's script followed by posthog-js, which must not change. */
function openScripts(): (config: string, library: Uint8Array) => Asset {
  /** Keyed by the configuration's script, least recently used first. */
  const scripts = new Map<string, Asset>();
  return (config, library) => {
    const whole = async () => Buffer.concat([Buffer.from(config), library]);
    const script = scripts.get(config) ?? makeAsset(scriptType, whole);
    putNewest(scripts, config, script, scriptsMax);
    return script;
  };
}

/** Parameters that server SDKs send about flags; there are no flags, whatever they send. */
const definitionQuery = {
  token: parameter("The project's key.", (query, name) => query.get(name)),
  send_cohorts: parameter("With the cohorts of the flags.", (query, name) => query.get(name)),
};

/** Mounts, for server SDKs, flag definitions, at the new path and the old one, and the payload of one flag. */
function definitionRoutes(gate: Gate) {
  const app = new Elysia({ name: "flag_definitions" }).use(gate);
  const answerWith =
    (answer: () => unknown) =>
    ({ request }: { request: Request }) => {
      readQuery(definitionQuery, readParams(request));
      return answer();
    };
  const hidden = { detail: { hide: true } };
  const ofReaders = { scope: "feature_flag:read", level: membershipLevels.reader } as const;
  for (const path of ["/flags/definitions/", "/api/feature_flag/local_evaluation/"])
    app.get(
      path,
      answerWith(() => noFlagDefinitions),
      { scope: ofReaders, ...hidden },
    );
  for (const home of projectHomes) {
    const path = `${home}/feature_flags/:key/remote_config/` as const;
    app.get(
      path,
      answerWith(() => Response.json(noPayload)),
      { project_scope: ofReaders, ...hidden },
    );
  }
  return app;
}

/**
 * The trimmed key, and whether its project wants recordings.
 * @throws Fault not_found when no project has the key.
 */
async function known(keys: ProjectKeys, token: string): Promise<{ key: string; recorded: Recorded }> {
  try {
    return { key: token.trim(), recorded: readRecorded(keys, await keys.admit(token)) };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "invalid_api_key") throw thrown;
    throw new Fault("not_found", "No project has this API key.");
  }
}

/** Reads the key's project's wish for recordings; none for an unknown key, since flags are answered for any key. */
async function findRecorded(keys: ProjectKeys, token: string | undefined): Promise<Recorded> {
  if (token === undefined) return nothingRecorded;
  try {
    return readRecorded(keys, await keys.admit(token));
  } catch (thrown) {
    if (thrown instanceof Fault) return nothingRecorded;
    throw thrown;
  }
}

const nothingRecorded: Recorded = { records: false, recordsConsole: false };

function readRecorded(keys: ProjectKeys, project_id: number): Recorded {
  return { records: keys.records(project_id), recordsConsole: keys.recordsConsole(project_id) };
}

/** Adds CORS headers, to faults as well. */
async function shared(request: Request, answer: () => Promise<Response> | Response): Promise<Response> {
  try {
    return withCors(request, await answer());
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return withCors(request, problemResponse(thrown));
  }
}

function readParams(request: Request): URLSearchParams {
  return new URL(request.url).searchParams;
}
