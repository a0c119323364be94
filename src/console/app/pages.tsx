// The pages of the console in menu order, and the scope that each needs.

import { type ComponentType } from "preact";
import { PersonsBehind } from "./actors/behind.tsx";
import { Dashboards } from "./dashboards/dashboards.tsx";
import { Explore } from "./explore/explore.tsx";
import { Insights } from "./insights/insights.tsx";
import { Live } from "./live/live.tsx";
import { Overview } from "./overview/overview.tsx";
import { Groups } from "./persons/groups.tsx";
import { Persons } from "./persons/persons.tsx";
import type { Route } from "./session/route.ts";
import { useLoaded } from "./session/use_loaded.ts";
import { FirstRun } from "./start/first_run.tsx";
import { PageWhenLoaded } from "./ui/parts.tsx";

type Page = ComponentType<{ route: Route }>;

/**
 * A page whose script is loaded when it is first opened: the first script stays small.
 * @param load imports the page's own script.
 */
function lazy(title: string, load: () => Promise<Page>): Page {
  const loadPage = () =>
    load().catch(() => {
      throw new Error("This page could not be loaded. Reload it: the server may have a newer version.");
    });
  return function LazyPage(props) {
    const loaded = useLoaded(loadPage, []);
    return (
      <PageWhenLoaded loaded={loaded} title={title}>
        {(Loaded) => <Loaded {...props} />}
      </PageWhenLoaded>
    );
  };
}

export interface PageEntry {
  name: string;
  title: string;
  /** Keys without it do not see the page. */
  scope: string;
  page: Page;
  /** A path in a square of 24; pages without one are not in the menu. */
  icon?: string;
  /** How many segments the address of a single item has behind the page's name; 0 by default. */
  ids?: number;
}

/** Pages in groups, by title: the first group has none. */
const groups: Readonly<Record<string, readonly PageEntry[]>> = {
  "": [
    {
      name: "overview",
      title: "Overview",
      scope: "query:read",
      page: Overview,
      icon: "M4 20V11M10 20V4M16 20v-6M22 20H2",
    },
    { name: "live", title: "Live", scope: "query:read", page: Live, icon: "M2 12h5l3-8 4 16 3-8h5" },
  ],
  Ask: [
    { name: "explore", title: "Explore", scope: "query:read", page: Explore, icon: "M3 19l6-8 5 4 7-11" },
    { name: "behind", title: "Persons behind a number", scope: "query:read", page: PersonsBehind },
    {
      name: "sql",
      title: "SQL",
      scope: "query:read",
      page: lazy("SQL", async () => (await import("./sql/sql_page.tsx")).Sql),
      icon: "M8 5l-6 7 6 7M16 5l6 7-6 7",
    },
    {
      name: "insights",
      title: "Insights",
      scope: "insight:read",
      page: Insights,
      ids: 1,
      icon: "M12 3a6 6 0 0 1 4 10.5V17H8v-3.5A6 6 0 0 1 12 3zM9 21h6",
    },
    {
      name: "dashboards",
      title: "Dashboards",
      scope: "dashboard:read",
      page: Dashboards,
      ids: 1,
      icon: "M3 3h8v8H3zM14 3h7v5h-7zM14 11h7v10h-7zM3 14h8v7H3z",
    },
  ],
  People: [
    {
      name: "persons",
      title: "Persons",
      scope: "person:read",
      page: Persons,
      ids: 1,
      icon: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-5 4-7 8-7s8 2 8 7",
    },
    {
      name: "groups",
      title: "Groups",
      scope: "group:read",
      page: Groups,
      ids: 2,
      icon: "M8 11a3 3 0 1 0 0-7 3 3 0 0 0 0 7zM16 11a3 3 0 1 0 0-6M2 20c0-4 3-6 6-6s6 2 6 6M17 14c3 0 5 2 5 6",
    },
    {
      name: "recordings",
      title: "Recordings",
      scope: "session_recording:read",
      page: lazy("Recordings", async () => (await import("./session_recordings/recordings.tsx")).Recordings),
      ids: 1,
      icon: "M3 5h18v14H3zM10 9l5 3-5 3z",
    },
  ],
  "Send out": [
    {
      name: "exports",
      title: "Exports",
      scope: "batch_export:read",
      page: lazy("Exports", async () => (await import("./batch_exports/exports.tsx")).Exports),
      ids: 1,
      icon: "M12 3v12M7 10l5 5 5-5M4 21h16",
    },
    {
      name: "subscriptions",
      title: "Subscriptions",
      scope: "subscription:read",
      page: lazy(
        "Subscriptions",
        async () => (await import("./subscriptions/subscriptions.tsx")).Subscriptions,
      ),
      ids: 1,
      icon: "M3 5h18v14H3zM3 6l9 7 9-7",
    },
  ],
  "Set up": [
    { name: "start", title: "Start", scope: "project:read", page: FirstRun, icon: "M6 4l13 8-13 8z" },
    {
      name: "keys",
      title: "Keys",
      scope: "*",
      page: lazy("Keys", async () => (await import("./accounts/keys.tsx")).Keys),
      icon: "M8 12a4 4 0 1 0 0 .01M12 12h10M18 12v4M22 12v3",
    },
    {
      name: "projects",
      title: "Projects",
      scope: "project:read",
      page: lazy("Projects", async () => (await import("./accounts/projects.tsx")).Projects),
      icon: "M3 6h7l2 3h9v10H3z",
    },
    {
      name: "members",
      title: "Members",
      scope: "organization_member:read",
      page: lazy("Members", async () => (await import("./accounts/members.tsx")).Members),
      icon: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-5 3-7 7-7s7 2 7 7M19 8v6M16 11h6",
    },
    {
      name: "account",
      title: "Account",
      scope: "*",
      page: lazy("Account", async () => (await import("./accounts/own_account.tsx")).OwnAccount),
      icon: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM6 19c1-3 3-4 6-4s5 1 6 4",
    },
  ],
};

/** The pages that a key with these scopes sees, in groups; empty groups are left out. */
export function pagesFor(isAllowed: (scope: string) => boolean) {
  return Object.entries(groups)
    .map(([title, entries]) => ({ title, entries: entries.filter(({ scope }) => isAllowed(scope)) }))
    .filter(({ entries }) => entries.length > 0);
}

/** The page of an address; the first one where it names none, undefined where it names an unknown one. */
export function pageAt(allowed: readonly PageEntry[], { page, more }: Route): PageEntry | undefined {
  const found = page === "" ? allowed[0] : allowed.find(({ name }) => name === page);
  return more.length === 0 || more.length === found?.ids ? found : undefined;
}
