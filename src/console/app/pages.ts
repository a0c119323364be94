// The pages of the console in menu order, and the scope that each needs.

import { type ComponentType } from "preact";
import { Keys } from "./account/keys.tsx";
import { Projects } from "./account/projects.tsx";
import { Dashboards } from "./boards/dashboards.tsx";
import { Insights } from "./boards/insights.tsx";
import { Explore } from "./explore/explore.tsx";
import { Exports } from "./exports/exports.tsx";
import { Live } from "./live/live.tsx";
import { Groups } from "./people/groups.tsx";
import { Persons } from "./people/persons.tsx";
import { Overview } from "./overview/overview.tsx";
import { Recordings } from "./recordings/recordings.tsx";
import { FirstRun } from "./start/first_run.tsx";
import { Sql } from "./sql/sql_page.tsx";
import { Subscriptions } from "./subscriptions/subscriptions.tsx";
import type { Route } from "./session/route.ts";

export interface PageEntry {
  name: string;
  title: string;
  /** A key without it is not shown the page. */
  scope: string;
  page: ComponentType<{ route: Route }>;
}

export const pages: readonly PageEntry[] = [
  { name: "overview", title: "Overview", scope: "query:read", page: Overview },
  { name: "start", title: "Start", scope: "project:read", page: FirstRun },
  { name: "live", title: "Live", scope: "query:read", page: Live },
  { name: "explore", title: "Explore", scope: "query:read", page: Explore },
  { name: "sql", title: "SQL", scope: "query:read", page: Sql },
  { name: "insights", title: "Insights", scope: "insight:read", page: Insights },
  { name: "dashboards", title: "Dashboards", scope: "dashboard:read", page: Dashboards },
  { name: "persons", title: "Persons", scope: "person:read", page: Persons },
  { name: "groups", title: "Groups", scope: "group:read", page: Groups },
  { name: "recordings", title: "Recordings", scope: "session_recording:read", page: Recordings },
  { name: "exports", title: "Exports", scope: "batch_export:read", page: Exports },
  { name: "subscriptions", title: "Subscriptions", scope: "subscription:read", page: Subscriptions },
  { name: "keys", title: "Keys", scope: "*", page: Keys },
  { name: "projects", title: "Projects", scope: "project:read", page: Projects },
];
