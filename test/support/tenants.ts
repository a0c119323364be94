// Two tenants on one server, and any route of it filled in with things that belong to the first. Never a list
// of routes: those come from the server itself.

import { hashSession } from "../../src/access/people/session.ts";
import type { Scope } from "../../src/access/scope.ts";
import { hashKey } from "../../src/core/id.ts";
import type { DescribedRoute } from "../../src/http/docs/docs.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey, revokeKey } from "../../src/personal_api_keys/store.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { addTestDelivery } from "../../src/subscriptions/deliveries/listing_store.ts";
import { addUser } from "./accounts.ts";
import { managementRoutes, type RunningApp, startApp } from "./app.ts";
import { personalKey, storesOf, until } from "./server.ts";
import { addInsight } from "./subscriptions.ts";

interface Thing {
  /** What the first tenant sends to make one. */
  body: (tenants: Tenants) => Record<string, unknown>;
  /** Makes one where a POST does not; its id. */
  make?: (tenants: Tenants, collection: string) => Promise<string>;
  /** Whether one that was made serves every path that does not delete it: making it is a statement of the engine's. */
  isShared?: boolean;
  /** Makes room for one more. */
  beforehand?: (tenants: Tenants) => Promise<void>;
}

const pageviews = { kind: "TrendsQuery", series: [{ event: "$pageview" }] };

/** How to make one thing of a collection, by the collection's last segment. */
const things: Record<string, Thing> = {
  organizations: { body: () => ({ name: "Made" }) },
  projects: { body: () => ({ name: "Made" }) },
  environments: { body: () => ({ name: "Made" }) },
  users: {
    body: () => ({}),
    // A key reads no user but its own.
    make: async ({ stores: { sql }, owner }) => {
      const [user] = await sql<{ uuid: string }[]>`SELECT uuid FROM users WHERE id = ${owner.user_id}`;
      return user!.uuid;
    },
  },
  members: {
    body: () => ({ level: 1 }),
    // The operator makes accounts.
    make: async ({ stores: { sql }, owner: { organization_id } }) => {
      const user_id = await addUser(sql, `${crypto.randomUUID()}@example.com`);
      const [user] = await sql<{ uuid: string }[]>`
        WITH member AS (
          INSERT INTO organization_memberships (organization_id, user_id) VALUES (${organization_id}, ${user_id})
        ) SELECT uuid FROM users WHERE id = ${user_id}`;
      return user!.uuid;
    },
  },
  invites: { body: () => ({ target_email: `${crypto.randomUUID()}@example.com` }) },
  sessions: {
    body: () => ({}),
    make: async ({ stores: { sql }, owner: { user_id } }) => {
      const id = crypto.randomUUID().replaceAll("-", "");
      await sql`
        INSERT INTO user_sessions (id, user_id, secure_value, user_agent)
        VALUES (${id}, ${user_id}, ${hashSession(id)}, '')`;
      return id;
    },
  },
  insights: {
    body: () => ({ name: "Made", query: { kind: "TrendsQuery", series: [{ event: "$pageview" }] } }),
  },
  dashboards: { body: () => ({ name: "Made" }) },
  passwords: {
    body: () => ({}),
    // A link has a few.
    beforehand: async ({ stores: { sql } }) => void (await sql`DELETE FROM share_passwords`),
  },
  annotations: { body: () => ({ content: "Made", scope: "organization" }) },
  persons: {
    body: () => ({}),
    isShared: true,
    make: async ({ stores: { clickhouse }, owner: { project_id } }) => {
      const distinct_id = crypto.randomUUID();
      await clickhouse.command(
        `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
         SELECT {project_id:UInt32}, {distinct_id:String}, now64(6), now64(6), now64(6), now64(6)`,
        { project_id, distinct_id },
      );
      return ownPersonId(project_id, distinct_id);
    },
  },
  events: {
    body: () => ({}),
    isShared: true,
    make: async ({ stores: { clickhouse }, owner: { project_id } }) => {
      const uuid = crypto.randomUUID();
      await clickhouse.command(
        `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
         SELECT {uuid:UUID}, {project_id:UInt32}, 'e', 'd', '{}', now64(6), now64(6)`,
        { project_id, uuid },
      );
      return uuid;
    },
  },
  query: { body: () => ({ query: pageviews }), make: makeBackgroundQuery },
  subscriptions: {
    body: ({ owner }) => ({
      insight: owner.insight,
      target_type: "email",
      target_value: "reader@example.com",
      frequency: "daily",
      start_date: "2024-01-01T09:00:00Z",
    }),
  },
  alerts: {
    body: ({ owner }) => ({
      insight: owner.insight,
      threshold: { configuration: { type: "absolute", bounds: { lower: 1 } } },
    }),
    beforehand: async ({ stores: { sql }, owner }) => {
      await sql`UPDATE insights SET query = ${sql.json(pageviews)} WHERE id = ${owner.insight}`;
    },
  },
  personal_api_keys: {
    body: () => ({ label: "made", scopes: ["project:read"] }),
    // A user may only have ten.
    beforehand: async ({ stores: { sql } }) => {
      await sql`DELETE FROM personal_api_keys WHERE label <> 'theirs' AND secure_value <> ${hashKey(personalKey)}`;
    },
  },
  batch_exports: {
    body: () => ({ name: "Made", interval: "week", destination: { type: "NoOp", config: {} } }),
    beforehand: async ({ stores: { sql } }) => void (await sql`DELETE FROM batch_exports`),
  },
  runs: { body: () => ({}), make: makeRun },
  deliveries: {
    body: () => ({}),
    make: async ({ stores: { sql } }, collection) => {
      const id = Number(lastWord(collection.replace("/deliveries", "")));
      return String((await addTestDelivery(sql, id, new Date()))!.id);
    },
  },
  backfills: {
    body: () => ({ start_at: "2025-01-01T00:00:00Z", end_at: null }),
    make: makeBackfill,
  },
  // Events make them.
  groups_types: { body: () => ({}), make: makeGroupType },
  set_default_columns: {
    body: () => ({ group_type_index: 4, default_columns: [] }),
    beforehand: async (tenants) => void (await makeGroupType(tenants)),
    make: makeGroupType,
  },
  // There are none: any key is answered alike.
  feature_flags: { body: () => ({}), make: async () => "any" },
  event_definitions: {
    body: () => ({}),
    isShared: true,
    make: (tenants) => makeDefinition(tenants, "event", 0),
  },
  property_definitions: {
    body: () => ({}),
    isShared: true,
    make: (tenants) => makeDefinition(tenants, "property", 1),
  },
  bulk_delete: { body: () => ({ session_recording_ids: ["none"] }) },
  session_recordings: {
    body: () => ({}),
    isShared: true,
    make: async ({ stores: { clickhouse }, owner: { project_id } }) => {
      const session = crypto.randomUUID();
      await clickhouse.command(
        `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at, data)
         SELECT {project_id:UInt32}, {session:String}, generateUUIDv4(), 'd', now64(6), now64(6), now64(6),
           now64(6) + INTERVAL 9 DAY, '[{"type":5}]'`,
        { project_id, session },
      );
      return session;
    },
  },
};

/** Names are recorded of events. */
async function makeDefinition(
  { app, stores: { clickhouse }, owner: { key, project_id } }: Tenants,
  what: "event" | "property",
  kind: number,
): Promise<string> {
  const name = crypto.randomUUID();
  await clickhouse.command(
    `INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
     SELECT {project_id:UInt32}, {kind:UInt8}, '', {name:String}, now64(6), '~'`,
    { project_id, kind, name },
  );
  const path = `/api/projects/${project_id}/${what}_definitions/?search=${name}`;
  const reply = await fetch(`${app.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const { results } = (await reply.json()) as { results: { id: string }[] };
  return results[0]!.id;
}

/** Runs are made by the clock. */
async function makeRun({ stores: { sql } }: Tenants, collection: string): Promise<string> {
  const [run] = await sql<{ id: string }[]>`
    INSERT INTO batch_export_runs (
      id, batch_export_id, data_interval_end, next_attempt_at, created_at, last_updated_at)
    VALUES (${crypto.randomUUID()}, ${collection.split("/").at(-2)!}, now() + random() * interval '1 year',
      now() + interval '1 day', now(), now())
    RETURNING id`;
  return run!.id;
}

async function makeBackfill(tenants: Tenants, collection: string): Promise<string> {
  // So many weeks that it is not over when it is requested.
  const body = { start_at: "1980-01-01T00:00:00Z", end_at: null };
  const made = await ask(tenants, "POST", `${collection}/`, tenants.owner.key, body);
  return String(made.body["backfill_id"]);
}

export interface GuardedRoute {
  name: string;
  method: string;
  path: string;
  /** null where any valid key will do. */
  scope: Scope | null;
  /** All that it takes. */
  required: Scope[];
}

export interface Tenants {
  app: RunningApp;
  stores: Stores;
  routes: GuardedRoute[];
  /** Routes below /api that take no personal key. */
  unguarded: string[];
  /** The first tenant, whose things all others request. */
  owner: { key: string; user_id: number; organization_id: string; project_id: number; insight: number };
  stranger: { key: string; organization_id: string };
  revoked: string;
  /** Ids of things that are shared, by the last segment of their collection. */
  shared: Map<string, string>;
  /** A key of the owner that opens everything but `scope`. */
  keyWithout(scope: Scope): Promise<string>;
}

export async function openTenants(): Promise<Tenants> {
  const app = await startApp();
  const stores = await storesOf(app);
  const { sql } = stores;
  const made = app.bootstrapped;
  const [user] = await sql<{ id: number }[]>`SELECT id FROM users`;
  if (!made || !user) throw new Error("the first start made nothing");
  const owner = {
    key: personalKey,
    user_id: user.id,
    organization_id: made.organization_id,
    project_id: made.project_id,
    insight: await addInsight(sql, made.project_id),
  };
  const stranger_id = await addUser(sql, "stranger@example.com");
  const theirs = await createOrganization(sql, {
    name: "Strangers",
    owner_id: stranger_id,
    project_name: "Theirs",
  });
  const { value: strangerKey } = await issueKey(sql, stranger_id, { label: "theirs", scopes: ["*"] });
  const gone = await issueKey(sql, owner.user_id, { label: "gone", scopes: ["*"] });
  await revokeKey(sql, gone.id, owner.user_id);
  const { guarded, unguarded } = sortRoutes(managementRoutes(app));
  return {
    app,
    stores,
    routes: guarded,
    unguarded,
    owner,
    stranger: { key: strangerKey, organization_id: theirs },
    revoked: gone.value,
    shared: new Map(),
    keyWithout: async (scope) => {
      const other: Scope = scope === "annotation:read" ? "action:read" : "annotation:read";
      return (await issueKey(sql, owner.user_id, { label: "narrow", scopes: [other] })).value;
    },
  };
}

function sortRoutes(routes: readonly DescribedRoute[]): { guarded: GuardedRoute[]; unguarded: string[] } {
  const guarded: GuardedRoute[] = [];
  const unguarded: string[] = [];
  for (const { method, path, hooks } of routes) {
    const name = `${method} ${path}`;
    const required = hooks.detail?.security?.[0]?.["personal_api_key"] as Scope[] | undefined;
    if (required === undefined) unguarded.push(name);
    else guarded.push({ name, method, path, scope: required[0] ?? null, required });
  }
  return { guarded, unguarded };
}

export interface Reply {
  status: number;
  text: string;
  body: Record<string, unknown>;
}

export async function ask(
  { app }: Tenants,
  method: string,
  path: string,
  key: string | undefined,
  body?: unknown,
): Promise<Reply> {
  const reply = await fetch(`${app.url}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, text, body: objectIn(text) };
}

export function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function makeGroupType({ stores: { sql }, owner: { project_id } }: Tenants): Promise<string> {
  await sql`
    INSERT INTO group_types (project_id, name, place, version) VALUES (${project_id}, 'company', 4, 1)
    ON CONFLICT DO NOTHING`;
  return "4";
}

/** Makes room for what a POST to this path makes, and what a PUT changes. */
export async function makeRoom(tenants: Tenants, { method, path }: GuardedRoute): Promise<void> {
  if (method === "POST" || method === "PUT") await things[lastWord(path)]?.beforehand?.(tenants);
}

/** A body that the route takes, or undefined where it takes none. */
export function bodyFor(tenants: Tenants, { method, path }: Pick<GuardedRoute, "method" | "path">): unknown {
  if (method === "GET" || method === "DELETE") return undefined;
  if (method === "POST") return things[lastWord(path)]?.body(tenants) ?? {};
  // Replacing a thing takes what making it took.
  const collection = isParameter(lastWord(path)) ? path.slice(0, path.lastIndexOf("/:")) : path;
  return method === "PUT" ? (things[lastWord(collection)]?.body(tenants) ?? {}) : {};
}

export function isParameter(segment: string): boolean {
  return segment.startsWith(":");
}

function lastWord(path: string): string {
  return path.split("/").filter(Boolean).at(-1) ?? "";
}

/**
 * The path with every parameter filled in by something of the first tenant. `fresh`: the last one names a
 * thing made for this call, which may be deleted.
 * @throws when there is no saying how to make it: a new collection belongs in `things`.
 */
export async function fillPath(tenants: Tenants, path: string, fresh = false): Promise<string> {
  const segments = path.split("/");
  const last = segments.findLastIndex(isParameter);
  const { organization_id, project_id } = tenants.owner;
  for (const [i, segment] of segments.entries()) {
    if (!isParameter(segment)) continue;
    if (segment === ":project_id" && !(fresh && i === last)) segments[i] = String(project_id);
    else if (segment === ":organization_id" && !(fresh && i === last)) segments[i] = organization_id;
    else segments[i] = await findIn(tenants, segments.slice(0, i).join("/"), fresh && i === last);
  }
  return segments.join("/");
}

/** A query in the background, which has ended. One that a deletion of data dropped is started again. */
async function makeBackgroundQuery(tenants: Tenants, collection: string): Promise<string> {
  const { key } = tenants.owner;
  const begin = async (): Promise<string> => {
    const body = { query: pageviews, refresh: "force_async" };
    const begun = await ask(tenants, "POST", `${collection}/`, key, body);
    return ((begun.body["query_status"] ?? {}) as { id?: string }).id ?? "";
  };
  let id = await begin();
  await until(async () => {
    const { status } = await ask(tenants, "GET", `${collection}/${id}/`, key);
    if (status === 404) id = await begin();
    return status === 200;
  });
  return id;
}

/** The id of a thing of the first tenant, made for this call unless one can be shared. */
async function findIn(tenants: Tenants, collection: string, fresh: boolean): Promise<string> {
  const word = lastWord(collection);
  if (fresh || !things[word]?.isShared) return await makeIn(tenants, collection);
  const id = tenants.shared.get(word) ?? (await makeIn(tenants, collection));
  tenants.shared.set(word, id);
  return id;
}

async function makeIn(tenants: Tenants, collection: string): Promise<string> {
  const thing = things[lastWord(collection)];
  if (!thing) throw new Error(`say in test/support/tenants.ts how to make one of ${collection}`);
  if (thing.make) return await thing.make(tenants, collection);
  await thing.beforehand?.(tenants);
  const body = thing.body(tenants);
  const made = await ask(tenants, "POST", `${collection}/`, tenants.owner.key, body);
  if (made.status !== 201) throw new Error(`POST ${collection}/ answered ${made.status}: ${made.text}`);
  return String(made.body["id"]);
}
