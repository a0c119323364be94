// Who may: every operation names its scope, and a request gets past the gate or is refused, in this order: no valid
// key, scope, the key's own restriction, project or organization. The route still finds its body unread.

import { Elysia } from "elysia";
import { type Clock, yieldToEventLoop } from "../core/clock.ts";
import { withinMs } from "../core/deadline.ts";
import { Fault } from "../core/fault.ts";
import { hashKey, isUuid } from "../core/id.ts";
import { accessLimits } from "./limits.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { chargeBody, type MemoryBudget } from "../work/memory_budget.ts";
import { keyInForm, keyInHeader, keyInJson, keyInQuery, type PresentedKey, refusalOf } from "./key.ts";
import { type Budget, openRateLimit, type RateLimit } from "./rate.ts";
import {
  type Access,
  admitOrganization,
  admitProject,
  findOwn,
  projectNumber,
  refuseHeldToProjects,
  requireScopes,
  type Scope,
} from "./scope.ts";
import { uncachedKeys, type KeyCache, type CachedKey } from "./key_cache.ts";
import { type Found, type KeyHolder, type Named, noteKeyUse } from "./store.ts";

export type { Access, AccessOrganization, AccessProject } from "./scope.ts";

export interface GateOptions {
  sql: Postgres;
  clock: Clock;
  log: Log;
  /** What reads are let in by; unless given, Postgres is asked each time, as it always is for anything else. */
  recent?: Pick<KeyCache, keyof CachedKey | "forget"> | undefined;
  /** Of one personal key, in any 60 seconds; none unless told. */
  requestsPerMinute?: number | undefined;
  /** What bodies of requests take is acquired from it; unless given, they are bounded one by one only. */
  memory?: MemoryBudget | undefined;
}

/** Where routes about one project hang: PostHog's older and newer spelling of the same thing. */
export const projectHomes = ["/api/projects/:project_id", "/api/environments/:project_id"] as const;

export type Gate = ReturnType<typeof openGate>;

/**
 * The plugin under every operation. A route names exactly one of these options:
 * - `scope: "project:read"` — gives the route `access`; null asks for a valid key and no scope.
 * - `project_scope: "query:read"` — for paths with `:project_id` (a number or `@current`); also gives
 *   `project`. A route that writes what shows other data names the scope to read that data as well:
 *   `["insight:write", "query:read"]`.
 * - `organization_scope: "batch_export:read"` — for paths with `:organization_id` (a UUID or `@current`);
 *   also gives `organization`.
 * - `account_scope: "organization:read"` — for the organizations themselves: as `scope`, but closed to keys
 *   that are held to projects. `own()` gives the one of `:organization_id`; what the key does not reach
 *   is not there.
 * Bodies stay unread (`parse: "none"`), so that a stranger's bad JSON is answered as a stranger's. Requests
 * that are refused here take nothing from the key's budget.
 */
export function openGate(options: GateOptions) {
  const { clock, recent, requestsPerMinute } = options;
  const asked = uncachedKeys(options.sql);
  const rate = requestsPerMinute === undefined ? undefined : openRateLimit(requestsPerMinute, clock);
  const admit = (context: GateContext, ...required: Scope[]) =>
    admitHolder(options, recent && isRead(context.request) ? recent : asked, context, rate, required);
  const after = (required: Scope | null) => (recent ? forgetful(recent, required) : {});
  const count = ({ set }: GateContext, { key }: Access) => {
    if (rate) showBudget(set, rate.take(key.id));
  };
  return new Elysia({ name: "gate" }).macro({
    scope: (required: Scope | null) => ({
      parse: unread,
      detail: operation(...(required === null ? [] : [required])),
      ...after(required),
      resolve: async (context: GateContext) => {
        const { holder: access } = await admit(context, ...(required === null ? [] : [required]));
        count(context, access);
        return { access };
      },
    }),
    project_scope: (required: Scope | readonly [Scope, ...Scope[]]) => ({
      parse: unread,
      detail: operation(...[required].flat()),
      ...after([required].flat()[0]!),
      resolve: async (context: GateContext) => {
        const { holder: access, project: found } = await admit(context, ...[required].flat());
        const project = admitProject(access, context.params?.["project_id"] ?? "", found);
        count(context, access);
        return { access, project };
      },
    }),
    organization_scope: (required: Scope) => ({
      parse: unread,
      detail: operation(required),
      ...after(required),
      resolve: async (context: GateContext) => {
        const { holder: access, organization: found } = await admit(context, required);
        const id = context.params?.["organization_id"] ?? "";
        const organization = admitOrganization(access, id, found);
        count(context, access);
        return { access, organization };
      },
    }),
    account_scope: (required: Scope) => ({
      parse: unread,
      detail: operation(required),
      ...after(required),
      resolve: async (context: GateContext) => {
        const { holder: access, organization: found } = await admit(context, required);
        refuseHeldToProjects(access);
        count(context, access);
        const id = context.params?.["organization_id"] ?? "";
        return { access, own: () => findOwn(access, id, found) };
      },
    }),
  });
}

function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

/** Others are told by Postgres a moment later; this server's next answer is right without. */
function forgetful(recent: Pick<KeyCache, "forget">, required: Scope | null) {
  if (!changesStanding(required)) return {};
  return { afterHandle: ({ request }: GateContext) => void (isRead(request) || recent.forget()) };
}

/** Whether a route may change who may do what, to judge by the scope it asks for. */
function changesStanding(required: Scope | null): boolean {
  return required === "*" || /^(organization|organization_member|project|user):write$/.test(required ?? "");
}

// Elysia takes the word in a macro, as it does in a route, but its types know it only there.
const unread = "none" as never;

interface GateContext {
  request: Request;
  /** Absent where the path has none. */
  params?: Record<string, string>;
  set: { headers: Record<string, string | number> };
}

/** On every answer to a key whose requests are counted. */
function showBudget(set: GateContext["set"], { limit, remaining, resetSeconds }: Budget): void {
  set.headers["x-ratelimit-limit"] = String(limit);
  set.headers["x-ratelimit-remaining"] = String(remaining);
  set.headers["x-ratelimit-reset"] = String(resetSeconds);
}

/** What the API's description says of a guarded route: OpenAPI 3.1 lets any scheme name what it requires. */
function operation(...required: Scope[]) {
  return { security: [{ personal_api_key: required }] };
}

async function admitHolder(
  options: GateOptions,
  standing: CachedKey,
  { request, set, params }: GateContext,
  rate: RateLimit | undefined,
  required: readonly Scope[],
): Promise<Found> {
  if (options.memory) chargeBody(request, options.memory);
  const presented = await findPresentedKey(request, options.memory);
  if (!presented) throw new Fault("not_authenticated", "Authentication credentials were not provided.");
  const named = namedIn(params ?? {});
  const found = await standing.holderOf(hashKey(presented.key), named);
  if (!found) throw new Fault("authentication_failed", refusalOf(presented.place));
  const { holder } = found;
  noteUse(options, holder);
  if (rate) showBudget(set, rate.look(holder.key.id));
  requireScopes(holder.key.scopes, required);
  return found;
}

/** The ids a path gives, where they can be any: beyond these Postgres would call them errors. */
function namedIn({ project_id = "", organization_id = "" }: Record<string, string>): Named {
  const number = projectNumber(project_id);
  const isCurrent = organization_id === "@current";
  return {
    project_id: project_id === "@current" ? project_id : number <= 2_147_483_647 ? number : undefined,
    organization_id: isCurrent || isUuid(organization_id) ? organization_id : undefined,
  };
}

async function findPresentedKey(
  request: Request,
  memory: MemoryBudget | undefined,
): Promise<PresentedKey | undefined> {
  return (
    keyInHeader(request.headers.get("authorization")) ??
    (await keyInBody(request, memory)) ??
    keyInQuery(new URL(request.url).searchParams)
  );
}

/**
 * Reads a copy, so that the route still finds its body; only bodies of a stated, small size.
 * @throws Fault unavailable when there is no memory for it, upload_timeout when it does not come.
 */
async function keyInBody(
  request: Request,
  memory: MemoryBudget | undefined,
): Promise<PresentedKey | undefined> {
  const length = Number(request.headers.get("content-length") ?? 0);
  if (!(length > 0 && length <= limits.keyBodyBytesMax) || request.bodyUsed) return undefined;
  const type = request.headers.get("content-type") ?? "";
  const keyIn = type.startsWith("application/json")
    ? keyInJson
    : type.startsWith("application/x-www-form-urlencoded")
      ? keyInForm
      : undefined;
  if (!keyIn) return undefined;
  const lease = memory?.open();
  try {
    lease?.acquire(length);
    return keyIn(await textOf(request));
  } finally {
    lease?.close();
  }
}

/** Of many that come at once, one long text is read in a turn of the loop. */
async function textOf(request: Request): Promise<string> {
  try {
    const text = await withinMs(request.clone().text(), limits.managementBodyMsMax);
    if (text.length > limits.parseAtOnceCharsMax) await yieldToEventLoop();
    return text;
  } catch {
    throw new Fault("upload_timeout", "The client stopped sending data.");
  }
}

/** Written beside the request, which neither waits for it nor fails with it. */
function noteUse({ sql, clock, log }: GateOptions, { key }: KeyHolder): void {
  const now = clock.now();
  const stale = now - accessLimits.keyUseNoteMs;
  const before = key.last_used_at;
  if (before !== null && before.getTime() > stale) return;
  // Those who are let in by the same finding need not note it again.
  key.last_used_at = new Date(now);
  noteKeyUse(sql, key.id, key.last_used_at, new Date(stale)).catch((reason: unknown) => {
    key.last_used_at = before;
    log.warn("the use of a personal key was not noted", { key_id: key.id, reason: reasonOf(reason) });
  });
}
