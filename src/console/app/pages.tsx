// The pages of the console in menu order, and the scope that each needs.

import { type ComponentType } from "preact";
import { Dashboards } from "./dashboards/dashboards.tsx";
import { Insights } from "./insights/insights.tsx";
import { Live } from "./live/live.tsx";
import { Overview } from "./overview/overview.tsx";
import type { Route } from "./session/route.ts";
import { allows, type Session } from "./session/session.ts";
import { useLoaded } from "./session/use_loaded.ts";
import { FirstRun } from "./start/first_run.tsx";
import { PageWhenLoaded } from "./ui/parts.tsx";

type Page = ComponentType<{ route: Route }>;

/**
 * A page whose script is loaded when it is first opened: the first script stays small.
 * @param load imports the page's own script.
 */
function lazy(title: string, scope: string, load: () => Promise<Page>, ids = 0): PageEntry {
  const loadPage = () =>
    load().catch(() => {
      throw new Error("This page could not be loaded. Reload it: the server may have a newer version.");
    });
  const page: Page = (props) => (
    <PageWhenLoaded loaded={useLoaded(loadPage, [])} title={title}>
      {(Loaded) => <Loaded {...props} />}
    </PageWhenLoaded>
  );
  return { name: title.toLowerCase(), title, scope, page, ids };
}

interface PageEntry {
  name: string;
  title: string;
  /** Keys without it do not see the page. */
  scope: string;
  page: Page;
  /** Whether readers have nothing to do there. */
  isForMembers?: boolean;
  /** How many segments the address of a single item has after the page's name; 0 by default. */
  ids?: number;
}

/** Paths in a square of 24, by page; pages without one are not in the menu. */
export const icons: Readonly<Record<string, string>> = {
  overview: "M4 20V11M10 20V4M16 20v-6M22 20H2",
  live: "M2 12h5l3-8 4 16 3-8h5",
  explore: "M3 19l6-8 5 4 7-11",
  sql: "M8 5l-6 7 6 7M16 5l6 7-6 7",
  insights: "M12 3a6 6 0 0 1 4 10.5V17H8v-3.5A6 6 0 0 1 12 3zM9 21h6",
  dashboards: "M3 3h8v8H3zM14 3h7v5h-7zM14 11h7v10h-7zM3 14h8v7H3z",
  persons: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-5 4-7 8-7s8 2 8 7",
  groups: "M8 11a3 3 0 1 0 0-7 3 3 0 0 0 0 7zM16 11a3 3 0 1 0 0-6M2 20c0-4 3-6 6-6s6 2 6 6M17 14c3 0 5 2 5 6",
  recordings: "M3 5h18v14H3zM10 9l5 3-5 3z",
  exports: "M12 3v12M7 10l5 5 5-5M4 21h16",
  subscriptions: "M3 5h18v14H3zM3 6l9 7 9-7",
  alerts: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 22h4",
  start: "M6 4l13 8-13 8z",
  keys: "M8 12a4 4 0 1 0 0 .01M12 12h10M18 12v4M22 12v3",
  projects: "M3 6h7l2 3h9v10H3z",
  members: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-5 3-7 7-7s7 2 7 7M19 8v6M16 11h6",
  account: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM6 19c1-3 3-4 6-4s5 1 6 4",
};

/** Pages in groups, by title: the first group has none. */
const groups: Readonly<Record<string, readonly PageEntry[]>> = {
  "": [
    { name: "overview", title: "Overview", scope: "query:read", page: Overview },
    { name: "live", title: "Live", scope: "query:read", page: Live, isForMembers: true },
  ],
  Analyze: [
    lazy("Explore", "query:read", async () => (await import("./explore/explore.tsx")).Explore),
    {
      ...lazy(
        "Persons behind a number",
        "query:read",
        async () => (await import("./actors/behind.tsx")).PersonsBehind,
      ),
      name: "behind",
      isForMembers: true,
    },
    lazy("SQL", "query:read", async () => (await import("./sql/sql_page.tsx")).Sql),
    { name: "insights", title: "Insights", scope: "insight:read", page: Insights, ids: 1 },
    { name: "dashboards", title: "Dashboards", scope: "dashboard:read", page: Dashboards, ids: 1 },
  ],
  People: [
    lazy("Persons", "person:read", async () => (await import("./persons/persons.tsx")).Persons, 1),
    lazy("Groups", "group:read", async () => (await import("./persons/groups.tsx")).Groups, 2),
    lazy(
      "Recordings",
      "session_recording:read",
      async () => (await import("./session_recordings/recordings.tsx")).Recordings,
      1,
    ),
  ],
  "Data out": [
    lazy(
      "Exports",
      "batch_export:read",
      async () => (await import("./batch_exports/exports.tsx")).Exports,
      1,
    ),
    lazy(
      "Subscriptions",
      "subscription:read",
      async () => (await import("./subscriptions/subscriptions.tsx")).Subscriptions,
      1,
    ),
    lazy("Alerts", "alert:read", async () => (await import("./subscriptions/alerts.tsx")).Alerts, 1),
  ],
  Settings: [
    { name: "start", title: "Start", scope: "project:read", page: FirstRun, isForMembers: true },
    lazy("Keys", "*", async () => (await import("./accounts/keys.tsx")).Keys),
    {
      ...lazy("Projects", "project:read", async () => (await import("./accounts/projects.tsx")).Projects),
      isForMembers: true,
    },
    lazy("Members", "organization_member:read", async () => (await import("./accounts/members.tsx")).Members),
    lazy("Account", "*", async () => (await import("./accounts/own_account.tsx")).OwnAccount),
  ],
};

/** The pages that a key with these scopes sees, in groups; empty groups are left out. */
export function pagesFor({
  scopes,
  ownScopes,
  isReader,
}: Pick<Session, "scopes" | "ownScopes" | "isReader">) {
  const isShown = ({ scope, isForMembers }: PageEntry) =>
    allows(scope === "*" ? ownScopes : scopes, scope) && !(isReader && isForMembers);
  return Object.entries(groups)
    .map(([title, entries]) => ({ title, entries: entries.filter(isShown) }))
    .filter(({ entries }) => entries.length > 0);
}

/** The page of an address; the first one where it names none, undefined where it names an unknown one. */
export function pageAt(allowed: readonly PageEntry[], { page, more }: Route): PageEntry | undefined {
  const found = page === "" ? allowed[0] : allowed.find(({ name }) => name === page);
  return more.length === 0 || more.length === found?.ids ? found : undefined;
}
