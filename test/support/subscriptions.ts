// Subscriptions in the test's own process: their routes on a Postgres, and a clock the test moves.

import { Elysia } from "elysia";
import { openAddresses } from "../../src/access/address.ts";
import { openGate } from "../../src/access/gate.ts";
import { openSecrets } from "../../src/access/secret.ts";
import { openMetrics } from "../../src/capture/metrics.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { alertRoutes } from "../../src/subscriptions/alerts/operations.ts";
import { type OpenedSubscriptions, openSubscriptions } from "../../src/subscriptions/open.ts";
import { subscriptionRoutes } from "../../src/subscriptions/operations.ts";
import type { DashboardView, ReportReader } from "../../src/subscriptions/report/report.ts";
import type { InsightView } from "../../src/subscriptions/report/section.ts";
import { linkRoutes } from "../../src/subscriptions/route.ts";
import { type FirstAccounts, openFirstAccounts } from "./accounts.ts";
import type { Answer } from "./ask.ts";
import { later } from "./cleanup.ts";

export interface MovedClock extends Clock {
  at: number;
}

export function clockAt(moment: string): MovedClock {
  const clock = { at: Date.parse(moment), now: () => clock.at, elapsed: () => performance.now() };
  return clock;
}

export interface SubscriptionDesk {
  accounts: FirstAccounts;
  sql: Postgres;
  clock: MovedClock;
  /** Where the project's subscriptions are. */
  home: string;
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer>;
  /** Asks for a subscription with these fields beside the required ones; its reply. */
  make(fields?: Record<string, unknown>): Promise<Answer>;
}

/** Monday. */
export const deskTime = "2024-01-15T10:00:00Z";

export async function openSubscriptionDesk(allowPrivate = false): Promise<SubscriptionDesk> {
  const accounts = await openFirstAccounts();
  later(() => accounts.close());
  const { sql } = accounts;
  const clock = clockAt(deskTime);
  const gate = openGate({ sql, clock, log: silentLog });
  const resolve = (name: string) =>
    Promise.resolve(name.startsWith("inside.") ? ["10.0.0.1"] : ["93.184.216.34"]);
  const addresses = openAddresses({ allowPrivate, resolve });
  const parts = { gate, sql, clock, addresses };
  const room = subscriptionRoutes(parts).use(alertRoutes(parts));
  const app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  const home = `/api/projects/${accounts.project_id}/subscriptions/`;
  const ask = async (method: string, path: string, body?: unknown, key = accounts.personal_api_key) => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const reply = await app.handle(request);
    const text = await reply.text();
    const value: unknown = text.startsWith("{") ? JSON.parse(text) : {};
    return { status: reply.status, text, body: value as Record<string, unknown>, headers: reply.headers };
  };
  const make = (fields: Record<string, unknown> = {}) => ask("POST", home, { ...required, ...fields });
  return { accounts, sql, clock, home, ask, make };
}

export const required = {
  target_type: "email",
  target_value: "reader@example.com",
  frequency: "weekly",
  start_date: "2024-01-01T09:00:00Z",
};

/** An insight of a project, with no query to speak of. */
export async function addInsight(sql: Postgres, project_id: number): Promise<number> {
  const short_id = crypto.randomUUID().replaceAll("-", "").slice(0, 8);
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO insights (project_id, short_id, query) VALUES (${project_id}, ${short_id}, '{}') RETURNING id`;
  return row!.id;
}

export async function addDashboard(sql: Postgres, project_id: number): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO dashboards (project_id, name) VALUES (${project_id}, 'Board') RETURNING id`;
  return row!.id;
}

export interface Delivering extends OpenedSubscriptions {
  /** What /metrics says. */
  metrics(): string;
  /** Opens a link of an e-mail. */
  open(url: string, method?: string): Promise<Response>;
  /** Looks for what is due, and waits until nothing is under way. */
  turn(): Promise<void>;
}

export interface DeliveringOptions {
  smtpUrl?: string | undefined;
  emailFrom?: string | undefined;
  reader?: ReportReader;
}

/** The work of a server process on the same Postgres; several may be open. */
export function openDelivering(desk: SubscriptionDesk, options: DeliveringOptions = {}): Delivering {
  const { sql, clock, accounts } = desk;
  const metrics = openMetrics();
  const opened = openSubscriptions({
    sql,
    clock,
    log: silentLog,
    metrics,
    addresses: openAddresses({ allowPrivate: true }),
    secrets: openSecrets({ dataDir: accounts.dataDir }),
    reader: options.reader ?? readerOf([signUps]),
    smtpUrl: options.smtpUrl,
    emailFrom: "emailFrom" in options ? options.emailFrom : "Sluice <reports@sluice.example>",
    siteUrl: () => "http://localhost",
  });
  later(() => opened.close());
  const room = linkRoutes({ sql, links: opened.links, pictures: opened.pictures });
  const app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  return {
    ...opened,
    metrics: () => metrics.registry.render(),
    open: async (url, method = "GET") => await app.handle(new Request(url, { method })),
    turn: async () => {
      await opened.poll();
      await opened.settle();
    },
  };
}

const labels = ["13-Jan-2024", "14-Jan-2024", "15-Jan-2024"];

/** As the room of insights reads one. */
export const signUps: InsightView = {
  id: 1,
  name: "Sign-ups",
  type: "series",
  interval: "day",
  date_from: "2024-01-13T00:00:00Z",
  date_to: "2024-01-15T23:59:59Z",
  results: [{ label: "signed up", labels, days: labels, data: [5, 7, 11], count: 23 }],
};

/** Answers every insight with the first, every dashboard with all. */
export function readerOf(insights: InsightView[]): ReportReader {
  const dashboard: DashboardView = { id: 1, name: "Board", insights };
  return {
    insight: (_project_id, id) => Promise.resolve(insights[0] && { ...insights[0], id }),
    dashboard: () => Promise.resolve(dashboard),
  };
}
