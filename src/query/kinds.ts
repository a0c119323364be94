// Every kind of query that is answered: a folder and a line each.

import { actorsKind } from "./actors/actors.ts";
import { eventsKind } from "./events/events.ts";
import { funnelsKind } from "./funnel/funnel.ts";
import { hogqlKind } from "./hogql/hogql.ts";
import type { QueryKind } from "./kind.ts";
import { lifecycleKind } from "./lifecycle/lifecycle.ts";
import { pathsKind } from "./paths/paths.ts";
import { retentionKind } from "./retention/retention.ts";
import { sessionsKind } from "./sessions/sessions.ts";
import { stickinessKind } from "./stickiness/stickiness.ts";
import { trendsKind } from "./trends/trends.ts";
import { webOverviewKind, webStatsTableKind } from "./web/web.ts";

export const queryKinds: Readonly<Record<string, QueryKind>> = {
  TrendsQuery: trendsKind,
  FunnelsQuery: funnelsKind,
  RetentionQuery: retentionKind,
  LifecycleQuery: lifecycleKind,
  StickinessQuery: stickinessKind,
  PathsQuery: pathsKind,
  HogQLQuery: hogqlKind,
  EventsQuery: eventsKind,
  ActorsQuery: actorsKind,
  SessionsQuery: sessionsKind,
  WebOverviewQuery: webOverviewKind,
  WebStatsTableQuery: webStatsTableKind,
};
