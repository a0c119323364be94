// The gate: checks every request to an operation, in this order: a valid key, its scope, its restriction to projects
// and organizations, and whether the project or organization exists. The route still finds its body unread.

import { Elysia } from "elysia";
import { toBytes } from "../core/bytes.ts";
import { yieldToEventLoop } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { hashKey, isUuid } from "../core/id.ts";
import { jsonIn, toMembers } from "../core/json/dictionary.ts";
import { formFault, shapeFault } from "../core/json/json_shape.ts";
import { limits } from "../core/limits.ts";
import { toReason } from "../core/log.ts";
import type { Uses } from "../storage/services.ts";
import { chargeBody, receiveAhead, releaseAhead } from "../work/bodies/charged_request.ts";
import type { MemoryBudget } from "../work/bodies/memory_budget.ts";
import { type CachedKey, type KeyCache, uncachedKeys } from "./key_cache.ts";
import { accessLimits } from "./limits.ts";
import { insufficient, type Level, membershipLevels, narrowToReader } from "./people/levels.ts";
import { isFromConsole, type SessionCookie, sessionCookieFor } from "./people/session.ts";
import { type Budget, openRateLimit } from "./rate.ts";
import {
  admitOrganization,
  admitProject,
  findOwn,
  projectNumber,
  refuseRestrictedToProjects,
  requireIn,
  requireScopes,
  type Scope,
} from "./scope.ts";
import { type KeyHolder, type Lookup, type Named, recordKeyUse } from "./store.ts";

export type { Access, AccessOrganization, AccessProject } from "./scope.ts";

/** `readmit()` returns what the route would be given now, or undefined where the request would be refused. */
export type Readmit<Given = object> = () => Promise<Given | undefined>;

export interface GateOptions extends Uses<"sql" | "clock" | "log"> {
  /** Cached look-ups for reads; without a cache, and for all other requests, Postgres is read each time. */
  recent?: Pick<KeyCache, keyof CachedKey | "forget"> | undefined;
  /** The cookie of a session, read when no key is presented; by default as without SITE_URL. */
  sessions?: SessionCookie | undefined;
  /** Requests of one personal key in any 60 seconds; unlimited by default. */
  requestsPerMinute?: number | undefined;
  /** The budget from which bodies of requests are acquired; without it each body is only bounded by itself. */
  memory?: MemoryBudget | undefined;
}

/** Paths under which routes about one project are mounted: PostHog's older and newer spelling. */
export const projectHomes = ["/api/projects/:project_id", "/api/environments/:project_id"] as const;

export type Gate = ReturnType<typeof openGate>;

/**
 * The requirement of a route on its key: a scope, all of several scopes, or none; and a level of its user, a member's
 * by default.
 */
type Needed = NeededScope | { scope: NeededScope; level: Level };
export type NeededScope = Scope | null | readonly [Scope, ...Scope[]];

function isLevelled(needed: Needed): needed is Exclude<Needed, NeededScope> {
  return needed !== null && typeof needed === "object" && "scope" in needed;
}

/**
 * The plugin under every operation. A route names exactly one of these options:
 * - `scope: "project:read"` gives the route `access`; null requires a valid key and no scope.
 * - `project_scope: "query:read"`, for paths with `:project_id` (a number or `@current`), also gives `project`. A route
 * that writes what shows other data names the scope to read that data as well: `["insight:write", "query:read"]`.
 * - `organization_scope: "batch_export:read"`, for paths with `:organization_id` (a UUID or `@current`), also gives
 * `organization`.
 * - `organization_project_scope: "project:read"`, for paths with both, is as `project_scope`, for a project of that
 * organization.
 * - `account_scope: "organization:read"`, for the organizations themselves, is as `scope`, but refuses keys that are
 * restricted to projects. `own()` gives the organization of `:organization_id`, or a 404 when the key does not reach
 * it. Each takes `{ scope, level }`, too, and refuses members below the level: in the project or organization of the
 * path, else in the user's current organization. In a project or organization that its user only reads, a key has the
 * scopes of a reader.
 * - `console: null`, for people who sign in, requires no key, but refuses all but the console's own script. The others
 * take a session in a key's place, where no key is presented. Each also gives `readmit()`, for long replies: it repeats
 * the checks with the key, its scopes and the project as they are now, by look-ups of at most
 * accessLimits.foundAgeMsMax. Bodies stay unread (`parse: "none"`), so that bad JSON without a valid key is a 401, not
 * a 400. Requests that are refused here do not count towards the key's rate limit.
 */
export function openGate(options: GateOptions) {
  const { clock, recent, requestsPerMinute, sessions = sessionCookieFor(undefined) } = options;
  const uncached = uncachedKeys(options.sql);
  const rate = requestsPerMinute === undefined ? undefined : openRateLimit(requestsPerMinute, clock);
  /** `admit` returns what the route gets, or throws a Fault. */
  const option = <Given extends object>(admit: (lookup: Lookup, params: Record<string, string>) => Given) => {
    return (needed: Needed) => {
      const { scope, level } = isLevelled(needed)
        ? needed
        : { scope: needed, level: membershipLevels.member };
      const required = [scope ?? []].flat();
      return {
        parse: unread,
        // OpenAPI 3.1 lets any scheme name what it requires.
        detail: { security: [{ personal_api_key: required }] },
        ...(recent && changesAccess(required) && { afterHandle: forgetAfterChange(recent) }),
        resolve: async (context: GateContext) => {
          const keys = recent && isRead(context.request) ? recent : uncached;
          const params = context.params ?? {};
          const presented = presentedHash(options, sessions, context.request);
          const named = namedIn(params, level);
          const find = async () => findHolder(keys, await presented, named);
          const admitHolder = (lookup: Lookup): Given => {
            requireScopes(lookup.holder.key.scopes, required);
            const admission = admit(narrowReader(lookup), params);
            requireLevelIn(lookup, level);
            return admission;
          };
          // From now on reading a body that was read ahead charges it to the sender.
          const lookup = await find().finally(() => isRead(context.request) || releaseAhead(context.request));
          const key_id = lookup.holder.key.id;
          if (options.memory) chargeWrite(context.request, options.memory, `key ${key_id}`);
          recordUse(options, lookup.holder);
          if (rate) showBudget(context.set, rate.read(key_id));
          const admission = admitHolder(lookup);
          if (rate) showBudget(context.set, rate.count(key_id));
          return {
            ...admission,
            services: options,
            readmit: () => unlessRefused(async () => admitHolder(await find())),
          };
        },
      };
    };
  };
  return new Elysia({ name: "gate" }).macro({
    console: () => consoleOption(options),
    scope: option(({ holder: access }) => ({ access })),
    project_scope: option(({ holder: access, project }, { project_id = "" }) => ({
      access,
      project: admitProject(access, project_id, project),
    })),
    organization_scope: option(({ holder: access, organization }, { organization_id = "" }) => ({
      access,
      organization: admitOrganization(access, organization_id, organization),
    })),
    organization_project_scope: option(({ holder: access, project, organization }, params) => {
      const admitted = admitProject(access, params["project_id"] ?? "", project);
      // A segment that cannot be decoded is null.
      requireIn(admitted, params["organization_id"] ?? "", organization);
      return { access, project: admitted };
    }),
    account_scope: option(({ holder: access, organization }, { organization_id = "" }) => {
      refuseRestrictedToProjects(access);
      return { access, own: () => findOwn(access, organization_id, organization) };
    }),
  });
}

function consoleOption({ memory }: GateOptions) {
  return {
    parse: unread,
    detail: { security: [] },
    resolve: ({ request }: GateContext) => {
      if (!isFromConsole(request)) throw new Fault("permission_denied", forConsole);
      if (memory) chargeWrite(request, memory);
      return {};
    },
  };
}

const forConsole =
  "Only the console signs people in: open this server's address in a browser, over https or on localhost, since " +
  "browsers tell the origin of a request only there. Programs send a personal API key.";

/** Charges the request's body to the budget, to no share until its sender is known. */
function chargeWrite(request: Request, memory: MemoryBudget, owner?: string): void {
  if (!isRead(request)) chargeBody(request, memory, owner);
}

function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

/** Empties this server's cache at once, so that its next answer is right; other servers are notified by Postgres. */
function forgetAfterChange(recent: Pick<KeyCache, "forget">) {
  return ({ request }: GateContext) => void (isRead(request) || recent.forget());
}

/** Whether a route may change access rights, judged by the first scope it requires. */
function changesAccess([required = ""]: readonly Scope[] | [""]): boolean {
  return required === "*" || /^(organization|organization_member|project|user):write$/.test(required);
}

// Elysia accepts this word in a macro, too, but its types only have it for routes.
const unread = "none" as never;

interface GateContext {
  request: Request;
  params?: Record<string, string>;
  set: { headers: Record<string, string | number> };
}

/** Shows the budget of a key whose requests are counted, on every answer. */
function showBudget(set: GateContext["set"], { limit, remaining, resetSeconds }: Budget): void {
  set.headers["x-ratelimit-limit"] = String(limit);
  set.headers["x-ratelimit-remaining"] = String(remaining);
  set.headers["x-ratelimit-reset"] = String(resetSeconds);
}

/** The hash of the key that a request presents, else of its session. @throws Fault not_authenticated for neither. */
async function presentedHash(
  { memory }: GateOptions,
  sessions: SessionCookie,
  request: Request,
): Promise<PresentedHash> {
  if (memory) chargeWrite(request, memory);
  const presented =
    keyInHeader(request.headers.get("authorization")) ??
    (await keyInBody(request)) ??
    keyInQuery(new URL(request.url).searchParams);
  const secure_value = presented ? undefined : sessions.presentedBy(request);
  if (secure_value !== undefined) return { secure_value, source: "session" };
  if (!presented) throw new Fault("not_authenticated", "Authentication credentials were not provided.");
  return { secure_value: hashKey(presented.key), source: presented.source };
}

/** @throws Fault authentication_failed for a key that does not exist. */
async function findHolder(
  keys: CachedKey,
  { secure_value, source }: PresentedHash,
  named: Named,
): Promise<Lookup> {
  const lookup = await keys.findHolder(secure_value, named);
  if (!lookup) throw new Fault("authentication_failed", keyRefusal(source));
  return lookup;
}

/** Undefined when a check throws a Fault; any other failure is thrown, since it is not about the key. */
async function unlessRefused<Given>(check: () => Promise<Given>): Promise<Given | undefined> {
  try {
    return await check();
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

/** The user's level in the project or organization; null for strangers, and where there is neither. */
function levelIn({ project, organization }: Lookup): number | null {
  return (project ?? organization)?.membership_level ?? null;
}

/** @throws Fault permission_denied for a member of the project or organization with less than the level. */
function requireLevelIn(lookup: Lookup, level: Level): void {
  if ((levelIn(lookup) ?? level) < level)
    throw new Fault("permission_denied", insufficient[lookup.project ? "project" : "organization"]);
}

/** The look-up with the scopes of a reader where its user is one. It may be cached, so that it is not changed. */
function narrowReader(lookup: Lookup): Lookup {
  const { key, user } = lookup.holder;
  if ((levelIn(lookup) ?? membershipLevels.member) >= membershipLevels.member) return lookup;
  const scopes = narrowToReader(key.scopes);
  return { ...lookup, holder: { key: { ...key, scopes, is_reader: true }, user } };
}

/**
 * The valid ids in a path: Postgres answers others with an error. Where more than a reader's level is required and the
 * path names no organization, it is the level in the current one.
 */
function namedIn(params: Record<string, string>, level: Level): Named {
  const namesNothing = Object.keys(params).length === 0 && level > membershipLevels.reader;
  const { project_id = "", organization_id = namesNothing ? "@current" : "" } = params;
  const number = projectNumber(project_id);
  const isCurrent = organization_id === "@current";
  return {
    project_id: project_id === "@current" ? project_id : number <= 2_147_483_647 ? number : undefined,
    organization_id: isCurrent || isUuid(organization_id) ? organization_id : undefined,
  };
}

/**
 * Reads the body ahead; the route can still read it. Only bodies of a stated, small size.
 * @throws Fault unavailable when there is no memory for it, upload_timeout when it does not arrive.
 */
async function keyInBody(request: Request): Promise<PresentedKey | undefined> {
  const length = Number(request.headers.get("content-length") ?? 0);
  if (!(length > 0 && length <= limits.keyBodyBytesMax) || request.bodyUsed) return undefined;
  const type = request.headers.get("content-type") ?? "";
  const isForm = type.startsWith("application/x-www-form-urlencoded");
  if (!isForm && !type.startsWith("application/json")) return undefined;
  const body = await receiveAhead(request, limits.keyBodyBytesMax);
  // Each turn of the event loop reads one of many long texts that arrive at once.
  if (body.length > limits.parseAtOnceCharsMax) await yieldToEventLoop();
  return (isForm ? keyInForm : keyInJson)(new TextDecoder().decode(body));
}

/** Records the use of a key in the background; the request neither waits for it nor fails with it. */
function recordUse({ sql, clock, log }: GateOptions, { key }: KeyHolder): void {
  const now = clock.now();
  const renewedBefore = now - accessLimits.keyUseRecordMs;
  const before = key.last_used_at;
  if (before !== null && before.getTime() > renewedBefore) return;
  // Requests admitted by the same cached look-up need not record it again.
  key.last_used_at = new Date(now);
  recordKeyUse(sql, key, key.last_used_at, new Date(renewedBefore)).catch((reason: unknown) => {
    key.last_used_at = before;
    log.warn("the use of a personal key was not recorded", { key_id: key.id, reason: toReason(reason) });
  });
}

type PresentedKey = { key: string; source: "Authorization header" | "body" | "query string" };
type PresentedHash = { secure_value: string; source: PresentedKey["source"] | "session" };

// The scheme is case-sensitive and white space around the key is allowed, as clients of this API expect.
const bearer = /^Bearer\s+(\S.+)$/;

/** The key of an Authorization header; undefined for other schemes. */
export function keyInHeader(authorization: string | null): PresentedKey | undefined {
  const key = authorization === null ? undefined : bearer.exec(authorization)?.[1]?.trim();
  return key ? { key, source: "Authorization header" } : undefined;
}

/**
 * The key in the field `personal_api_key` of a JSON body. A body that is not JSON, or too complex to be parsed before
 * the client is known, holds no key.
 */
export function keyInJson(text: string): PresentedKey | undefined {
  if (!text.includes("personal_api_key") || shapeFault(toBytes(text))) return undefined;
  return present(toMembers(jsonIn(text))["personal_api_key"], "body");
}

/** The key in the field `personal_api_key` of a form; undefined when the form has too many fields. */
export function keyInForm(text: string): PresentedKey | undefined {
  if (formFault(toBytes(text))) return undefined;
  return present(new URLSearchParams(text).get("personal_api_key"), "body");
}

export function keyInQuery(query: URLSearchParams): PresentedKey | undefined {
  return present(query.get("personal_api_key"), "query string");
}

function present(value: unknown, source: PresentedKey["source"]): PresentedKey | undefined {
  const key = typeof value === "string" ? value.trim() : "";
  return key ? { key, source } : undefined;
}

export function keyRefusal(source: PresentedHash["source"]): string {
  if (source === "session") return "Your session is over. Sign in again.";
  return `Personal API key found in request ${source} is invalid.`;
}
