// Operations of the management API. Each is one record: its route under every home, the checks of its query and body,
// its part of the API's description and its type for clients are made from it.

import { type CreateEden, Elysia, type ResolvePath, status } from "elysia";
import type { Static, TObject, TSchema } from "typebox";
import {
  type Access,
  type AccessOrganization,
  type AccessProject,
  type Gate,
  type NeededScope,
  projectHomes,
  type Readmit,
} from "../access/gate.ts";
import { leastLevel } from "../access/people/levels.ts";
import { limits } from "../core/limits.ts";
import type { Services, Uses } from "../storage/services.ts";
import { readFields } from "./body.ts";
import type { CreateInput, UpdateInput } from "./fields/field.ts";
import type { Purpose } from "./fields/field_check.ts";
import { describedQuery, type Query, type QueryValues, readQuery } from "./fields/query.ts";
import { type Reply, requestBody } from "./fields/schema.ts";
import { httpLimits } from "./limits.ts";
import { LongReply } from "./pages/long_reply.ts";
import { requestUrl } from "./pages/page.ts";
import { slicedJson } from "./pages/sliced.ts";
import { recorded, type RecordedChange } from "./recorded.ts";

interface AllParts extends Services {
  gate: Gate;
}

/** The services of a room's operations. */
export type RoomParts<Names extends keyof AllParts> = Pick<AllParts, Names>;

/** Paths at which operations are mounted, and the gate's option for them. */
const homes = {
  project: { gate: "project_scope", paths: projectHomes },
  /** A project as `project` has it, named below its organization. */
  project_of_organization: {
    gate: "organization_project_scope",
    paths: ["/api/organizations/:organization_id/projects/:project_id"],
  },
  organization: { gate: "organization_scope", paths: ["/api/organizations/:organization_id"] },
  projects: { gate: "scope", paths: ["/api/projects", "/api/environments"] },
  projects_of_organization: {
    gate: "organization_scope",
    paths: ["/api/organizations/:organization_id/projects"],
  },
  organizations: { gate: "account_scope", paths: ["/api/organizations"] },
  keys: { gate: "scope", paths: ["/api/personal_api_keys"] },
  users: { gate: "scope", paths: ["/api/users"] },
  /** Serves people without a key, by the console's own script. */
  sign_in: { gate: "console", paths: ["/api"] },
} as const;

type Home = keyof typeof homes;
type HomePath<H extends Home> = (typeof homes)[H]["paths"][number];

interface Admitted {
  project: { access: Access; project: AccessProject; organization?: undefined };
  project_of_organization: Admitted["project"];
  organization: { access: Access; organization: AccessOrganization; project?: undefined };
  projects: { access: Access; organization?: undefined };
  projects_of_organization: { access: Access; organization: AccessOrganization };
  organizations: { access: Access; own: () => AccessOrganization };
  keys: { access: Access };
  users: { access: Access };
  sign_in: { access?: undefined };
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Success = 200 | 201 | 202 | 204;
type Awaitable<Value> = Value | Promise<Value>;

/** The replies of an operation by status. The last success is the status of what `answer` returns. */
type Replies = { readonly [status: number]: Reply<TSchema> | { description: string } | { $ref: string } };

type Bodies<R extends Replies> = {
  [S in keyof R & Success]: R[S] extends Reply<infer Schema> ? Static<Schema> : void;
};

/** POST creates a thing, PUT replaces and PATCH changes one. */
type Input<M extends Method, B extends TObject> = M extends "POST" ? CreateInput<B> : UpdateInput<B>;

export type OperationRequest<H extends Home, P extends string = string> = Admitted[H] & {
  /** Admits again work that outlives its request. */
  readmit: Readmit<Admitted[H]>;
  request: Request;
  /** The URL as its client sees it; links begin with it. */
  url: URL;
  params: Record<keyof ResolvePath<P>, string>;
};

interface OperationRecord<
  H extends Home,
  M extends Method,
  P extends string,
  Q extends Query,
  B extends TObject,
  R extends Replies,
  Found,
  Put extends string | undefined,
> {
  summary: string;
  /** The summary, beside a PATCH, of a PUT that does the same, with a body that has every field without a default. */
  put?: Put;
  description?: string;
  deprecated?: boolean;
  /** Finds what the path names: its 404 or 403 comes before the 400 of a query or body. */
  find?: (request: OperationRequest<H, P>) => Awaitable<Found>;
  query?: Q;
  body?: B;
  replies: R;
  /** A Response is sent as it is. */
  answer: (
    request: OperationRequest<H, P> & { found: Found; query: QueryValues<Q>; body: Input<M, B> },
  ) => Awaitable<Bodies<R>[keyof Bodies<R>] | Response>;
}

/** An operation whose types are known where it is mounted. */
interface Operation<H extends Home = Home, Name extends string = string, Route = unknown> {
  /** E.g. `GET /groups/`. It makes the type of each operation distinct, so that a list of them keeps all. */
  name: Name;
  homes: readonly H[];
  record: ErasedRecord;
  /** Exists in the type only. */
  route?: Route;
}

type AnyRecord = OperationRecord<Home, Method, string, Query, TObject, Replies, unknown, string | undefined>;

interface ErasedRecord extends Omit<AnyRecord, "answer" | "find"> {
  method: Method;
  path: string;
  scope: NeededScope;
  find?: (request: object) => unknown;
  answer: (request: object) => unknown;
}

type RouteOf<
  H extends Home,
  M extends Method,
  P extends string,
  Q extends Query,
  B extends TObject,
  R extends Replies,
> = CreateEden<
  `${HomePath<H>}${P}`,
  {
    [Name in Lowercase<M>]: {
      body: TObject extends B ? unknown : Partial<Static<B>>;
      params: ResolvePath<`${HomePath<H>}${P}`>;
      query: { [Name in keyof Q]?: string | number | boolean };
      headers: unknown;
      response: Bodies<R>;
    };
  }
>;

/** Makes operations of these homes. `name`: method and path behind the home, e.g. `GET /insights/:id/`. */
export function toOperations<const H extends Home>(...homes: readonly H[]) {
  return <
    const M extends Method,
    const P extends `/${string}`,
    const R extends Replies,
    Q extends Query = Record<never, never>,
    B extends TObject = TObject,
    Found = undefined,
    Put extends string | undefined = undefined,
  >(
    name: `${M} ${P}`,
    scope: NeededScope,
    record: OperationRecord<H, M, P, Q, B, R, Found, Put>,
  ): Operation<H, `${M} ${P}`, RouteOf<H, Put extends string ? M | "PUT" : M, P, Q, B, R>> => {
    const [method, path] = name.split(" ");
    return { name, homes, record: { ...record, method, path, scope } as unknown as ErasedRecord };
  };
}

export const projectOperation = toOperations("project");

type Taking<Union> = Union extends unknown ? (item: Union) => void : never;
type Intersection<Union> = Taking<Union> extends (all: infer All) => void ? All : never;

type RoutesOf<O extends readonly Operation[]> =
  Intersection<NonNullable<O[number]["route"]>> extends infer Routes extends Record<string, unknown>
    ? Routes
    : Record<never, never>;

/** A plugin with a route for each of these operations under each of its homes. */
export function mounted<const O extends readonly Operation[]>(gate: Gate, tag: string, operations: O) {
  const app = new Elysia({ name: tag });
  for (const [home, { gate: option, paths }] of Object.entries(homes)) {
    const mounted = operations.filter((item) => item.homes.includes(home as Home));
    const records = mounted.flatMap(({ record }) => withPut(record));
    for (const prefix of records.length > 0 ? paths : []) {
      const plugin = new Elysia({ name: `${tag} of ${prefix}`, prefix, tags: [tag] }).use(gate);
      for (const record of records) {
        const level = leastLevel(record.method, `${prefix}${record.path}`, [record.scope ?? []].flat());
        const hook = { [option]: { scope: record.scope, level }, detail: describeOperation(record) };
        plugin.route(record.method, record.path, makeHandler(home as Home, record) as () => unknown, hook);
      }
      app.use(plugin);
    }
  }
  return app as unknown as MountedElysia<RoutesOf<O>>;
}

function withPut(record: ErasedRecord): ErasedRecord[] {
  const { put, description: _, ...rest } = record;
  return put === undefined ? [record] : [record, { ...rest, method: "PUT", summary: put }];
}

type MountedElysia<Routes extends Record<string, unknown>> =
  Elysia extends Elysia<infer Base, infer S, infer D, infer M, infer _>
    ? Elysia<Base, S, D, M, Routes>
    : never;

/** Facts that the gate has resolved; undefined for an operation of another home. */
type Context = Record<"access" | "project" | "organization" | "own", unknown> & {
  readmit: Readmit;
  services: Uses<"sql" | "clock" | "log">;
  request: Request;
  /** Undefined where the path has none; a segment is undefined where it cannot be decoded. */
  params: Record<string, string | undefined> | undefined;
};

function makeHandler(home: Home, record: ErasedRecord) {
  const success = Number(Object.keys(record.replies).findLast((code) => Number(code) < 300)) as Success;
  const { method, path, scope, find, query: parameters = {}, body: schema, answer } = record;
  const isChange =
    method !== "GET" && [scope].flat().some((item) => item === "*" || item?.endsWith(":write"));
  // Elysia reads these names in the source of the handler to know what to prepare.
  return async ({
    access,
    project,
    organization,
    own,
    readmit,
    services,
    request,
    params: segments,
  }: Context) => {
    const url = requestUrl(request);
    const params = Object.fromEntries(
      Object.entries(segments ?? {}).map(([name, text]) => [name, text ?? ""]),
    );
    const operationRequest = { access, project, organization, own, readmit, request, params, url };
    const found = await find?.(operationRequest);
    const query = readQuery(parameters, url.searchParams, project as AccessProject | undefined);
    const body = schema && (await readFields(request, schema, purposes[method]));
    const respond = async () => await answer({ ...operationRequest, found, query, body });
    const change = { home, method, path, ...operationRequest, body } as RecordedChange;
    const result = isChange ? await recorded(services, change, success, respond) : await respond();
    if (success === 204 && !(result instanceof Response)) return status(204);
    // Elysia would write the status's name as the body.
    if (result === undefined) return new Response(null, { status: success });
    const reply = result instanceof Response ? result : await jsonReply(result as object, success);
    if (!(reply instanceof LongReply)) return reply;
    return reply.admit(
      (project as AccessProject | undefined)?.id ?? `key ${(access as Access).key.id}`,
      readmit,
    );
  };
}

/** A short answer is written in one step; a long one in slices, since it would delay other requests. */
async function jsonReply(answer: object, success: number): Promise<Response> {
  const { results } = Object(answer) as { results?: unknown };
  if (!Array.isArray(results) || results.length <= limits.rowsShownAtOnceMax) {
    const text = JSON.stringify(answer);
    if (Buffer.byteLength(text) <= httpLimits.replyWholeBytesMax)
      return new Response(text, { headers: { "content-type": "application/json" }, status: success });
  }
  return await slicedJson(answer, 2, success);
}

const purposes: Partial<Record<Method, Purpose>> = { PATCH: "change", PUT: "replace" };

function describeOperation(record: ErasedRecord) {
  const { method, summary, description, deprecated, query, body, replies } = record;
  return {
    summary,
    ...(description !== undefined && { description }),
    ...(deprecated && { deprecated }),
    ...(query && { parameters: describedQuery(query) }),
    ...(body && { requestBody: requestBody(body, method === "PATCH") }),
    responses: replies,
  };
}
