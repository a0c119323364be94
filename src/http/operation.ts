// Operations of the management API. Each is one record: its route under every home, the checks of its query and body,
// its part of the API's description and its type for clients are made from it.

import { type CreateEden, Elysia, type ResolvePath, status } from "elysia";
import type { Static, TObject, TSchema } from "typebox";
import {
  type Access,
  type AccessOrganization,
  type AccessProject,
  type Gate,
  projectHomes,
} from "../access/gate.ts";
import type { Scope } from "../access/scope.ts";
import { readChanges, readFields, readReplacement } from "./body.ts";
import type { CreateInput, UpdateInput } from "./fields/field.ts";
import { describedQuery, type Query, type QueryValues, readQuery } from "./fields/query.ts";
import { type Reply, requestBody } from "./fields/schema.ts";
import { requestUrl } from "./pages/page.ts";

/** Where operations are mounted, and the option of the gate that admits to them. */
const homes = {
  /** In one project. */
  project: { gate: "project_scope", paths: projectHomes },
  /** In one organization. */
  organization: { gate: "organization_scope", paths: ["/api/organizations/:organization_id"] },
  /** About the projects that a key reaches. */
  projects: { gate: "scope", paths: ["/api/projects", "/api/environments"] },
  /** About the organizations of a key's user. */
  organizations: { gate: "account_scope", paths: ["/api/organizations"] },
  /** About the keys of a key's user. */
  keys: { gate: "scope", paths: ["/api/personal_api_keys"] },
} as const;

type Home = keyof typeof homes;
type HomePath<H extends Home> = (typeof homes)[H]["paths"][number];

/** What the gate knows of a request that it let in. */
interface Admitted {
  project: { access: Access; project: AccessProject; organization?: undefined };
  organization: { access: Access; organization: AccessOrganization; project?: undefined };
  projects: { access: Access };
  organizations: { access: Access; own: () => AccessOrganization };
  keys: { access: Access };
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Success = 200 | 201 | 204;
type Awaitable<Value> = Value | Promise<Value>;

/** What an operation answers, by status. The last success is the status of what `answer` returns. */
type Replies = { readonly [status: number]: Reply<TSchema> | { description: string } | { $ref: string } };

/** A body as JSON, by status. */
type Bodies<R extends Replies> = {
  [S in keyof R & Success]: R[S] extends Reply<infer Schema> ? Static<Schema> : void;
};

/** POST makes a thing, PUT replaces and PATCH changes one. */
type Input<M extends Method, B extends TObject> = M extends "POST" ? CreateInput<B> : UpdateInput<B>;

/** A request past the gate. */
export type OperationRequest<H extends Home, P extends string = string> = Admitted[H] & {
  request: Request;
  /** As its client sees it; links begin with it. */
  url: URL;
  params: Record<keyof ResolvePath<`/${P}`>, string>;
};

interface OperationRecord<
  H extends Home,
  M extends Method,
  P extends string,
  Q extends Query,
  B extends TObject,
  R extends Replies,
  Found,
> {
  method: M;
  /** Behind the home, e.g. `insights/:id/`. */
  path: P;
  /** null: any valid key. Of several, each is needed. */
  scope: Scope | null | readonly [Scope, ...Scope[]];
  summary: string;
  description?: string;
  deprecated?: boolean;
  /** What the path names: its 404 or 403 comes before the 400 of a query or body. */
  find?: (asked: OperationRequest<H, P>) => Awaitable<Found>;
  query?: Q;
  body?: B;
  replies: R;
  /** A Response is sent as it is. */
  answer: (
    asked: OperationRequest<H, P> & { found: Found; query: QueryValues<Q>; body: Input<M, B> },
  ) => Awaitable<Bodies<R>[keyof Bodies<R>] | Response>;
}

/** A record whose types are known to whoever mounts it. */
export interface Operation<H extends Home = Home, Name extends string = string, Route = unknown> {
  /** E.g. `GET groups/`. Of each operation another type, so that a list of them keeps all. */
  name: Name;
  homes: readonly H[];
  record: ErasedRecord;
  /** Only a type. */
  route?: Route;
}

interface ErasedRecord extends Omit<
  OperationRecord<Home, Method, string, Query, TObject, Replies, unknown>,
  "answer" | "find"
> {
  find?: (asked: object) => unknown;
  answer: (asked: object) => unknown;
}

type RouteOf<
  H extends Home,
  M extends Method,
  P extends string,
  Q extends Query,
  B extends TObject,
  R extends Replies,
> = CreateEden<
  `${HomePath<H>}/${P}`,
  {
    [Name in Lowercase<M>]: {
      body: TObject extends B ? unknown : Partial<Static<B>>;
      params: ResolvePath<`${HomePath<H>}/${P}`>;
      query: { [Name in keyof Q]?: string | number | boolean };
      headers: unknown;
      response: Bodies<R>;
    };
  }
>;

/** Makes operations of these homes. */
export function operationsOf<const H extends Home>(...homes: readonly H[]) {
  return <
    const M extends Method,
    const P extends string,
    const R extends Replies,
    Q extends Query = Record<never, never>,
    B extends TObject = TObject,
    Found = undefined,
  >(
    record: OperationRecord<H, M, P, Q, B, R, Found>,
  ): Operation<H, `${M} ${P}`, RouteOf<H, M, P, Q, B, R>> => {
    const name = `${record.method} ${record.path}` as const;
    return { name, homes, record: record as unknown as ErasedRecord };
  };
}

export const projectOperation = operationsOf("project");

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** Routes of these operations, as a typed client sees them. */
type RoutesOf<O extends readonly Operation[]> =
  Intersection<NonNullable<O[number]["route"]>> extends infer Routes extends Record<string, unknown>
    ? Routes
    : Record<never, never>;

/** A plugin with a route for each of these operations under each of its homes. */
export function mounted<const O extends readonly Operation[]>(gate: Gate, tag: string, operations: O) {
  const app = new Elysia({ name: tag });
  for (const [home, { gate: option, paths }] of Object.entries(homes)) {
    const records = operations.filter((one) => one.homes.includes(home as Home)).map(({ record }) => record);
    for (const prefix of records.length > 0 ? paths : []) {
      const plugin = new Elysia({ name: `${tag} of ${prefix}`, prefix, tags: [tag] }).use(gate);
      for (const record of records) {
        const hook = { [option]: record.scope, detail: detailOf(record) };
        plugin.route(record.method, `/${record.path}`, handlerOf(record) as () => unknown, hook);
      }
      app.use(plugin);
    }
  }
  return app as unknown as MountedElysia<RoutesOf<O>>;
}

type Plain<App> =
  App extends Elysia<infer Base, infer S, infer D, infer M, infer _> ? [Base, S, D, M] : never;
type MountedElysia<Routes extends Record<string, unknown>> = Elysia<
  Plain<Elysia>[0],
  Plain<Elysia>[1],
  Plain<Elysia>[2],
  Plain<Elysia>[3],
  Routes
>;

/** All that the gate may have resolved; of another home it is undefined. */
type Context = Record<"access" | "project" | "organization" | "own", unknown> & {
  request: Request;
  /** Undefined where the path has none; a segment is undefined where it cannot be decoded. */
  params: Record<string, string | undefined> | undefined;
};

function handlerOf(record: ErasedRecord) {
  const success = Number(Object.keys(record.replies).findLast((code) => Number(code) < 300)) as Success;
  const { find, query: parameters = {}, body: schema, answer } = record;
  // Elysia reads these names in the source of the handler to know what to prepare.
  return async ({ access, project, organization, own, request, params: segments }: Context) => {
    const url = requestUrl(request);
    const params = Object.fromEntries(
      Object.entries(segments ?? {}).map(([name, text]) => [name, text ?? ""]),
    );
    const asked = { access, project, organization, own, request, params, url };
    const found = await find?.(asked);
    const query = readQuery(parameters, url.searchParams);
    const body = schema && (await readInput(record.method, request, schema));
    const answered = await answer({ ...asked, found, query, body });
    if (answered instanceof Response || success === 200) return answered;
    return success === 204 ? status(204) : status(success, answered);
  };
}

async function readInput(method: Method, request: Request, schema: TObject): Promise<unknown> {
  if (method === "PATCH") return await readChanges(request, schema);
  return method === "PUT" ? await readReplacement(request, schema) : await readFields(request, schema);
}

/** What the API's description says of it. */
function detailOf(record: ErasedRecord) {
  const { method, summary, description, deprecated, query, body, replies } = record;
  return {
    summary,
    ...(description !== undefined && { description }),
    ...(deprecated && { deprecated }),
    ...(query && { parameters: describedQuery(query) }),
    ...(body && { requestBody: requestBody(body, { partial: method === "PATCH" }) }),
    responses: replies,
  };
}
