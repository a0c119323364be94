// Runs queries: a few at a time, each within its limits, in the time zone of its project.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { queryLimits } from "./limits.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { Semaphore } from "../work/semaphore.ts";
import type { QueryAnswer, QueryContext } from "./answer.ts";
import { checkQuery } from "./check.ts";
import { type CheckedQuery } from "./checked.ts";
import { shownMoment } from "./date_range.ts";
import { answerEvents } from "./events/events.ts";
import { answerFunnels } from "./funnel/funnel.ts";
import { answerRetention } from "./retention/retention.ts";
import { firstEventMs, openAsk, timezoneOf } from "./store.ts";
import { titleOf } from "./title.ts";
import { answerTrends } from "./trends/trends.ts";

export interface QueryResult extends Omit<QueryAnswer, "span" | "interval"> {
  interval: string | null;
  /** The span it is about, ISO 8601 in the project's zone; the end is the last moment in it. */
  date_from: string;
  date_to: string;
  timezone: string;
  /** When it was computed, ISO 8601. */
  computed_at: string;
}

export interface QueryEngine {
  /**
   * What a query is and is called, without running it.
   * @throws Fault for the first thing that is wrong in it, named below `attr`.
   */
  check(query: unknown, attr?: string): { kind: CheckedQuery["kind"]; title: string };
  /**
   * Runs a query over one project's events, within limits.querySecondsMax, or until nobody waits for it.
   * @throws Fault for what is wrong in it, when it is too heavy, and `unavailable` when too many wait already.
   */
  run(project_id: number, query: unknown, attr?: string, abort?: AbortSignal): Promise<QueryResult>;
}

export interface EngineOptions {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function openQueryEngine({ sql, clickhouse, clock }: EngineOptions): QueryEngine {
  const places = new Semaphore(
    queryLimits.queriesRunningMax,
    queryLimits.queriesWaitingMax,
    limits.workingShare,
  );
  const run = async (
    project_id: number,
    checked: CheckedQuery,
    abort: AbortSignal | undefined,
  ): Promise<QueryResult> => {
    const timezone = await timezoneOf(sql, project_id);
    if (timezone === undefined) throw new Fault("not_found", "Project not found.");
    const now = clock.now();
    const ask = openAsk(abort ? readsUntil(clickhouse, abort) : clickhouse, clock);
    const first = () => firstEventMs(ask, project_id);
    const { span, interval, ...answered } = await answer(checked, { ask, project_id, timezone, now, first });
    return {
      ...answered,
      interval: interval ?? null,
      date_from: shownMoment(span.from),
      date_to: shownMoment(span.to.subtract({ microseconds: 1 })),
      timezone,
      computed_at: new Date(now).toISOString(),
    };
  };
  return {
    check: (query, attr) => {
      const checked = checkQuery(query, attr);
      return { kind: checked.kind, title: titleOf(checked) };
    },
    run: async (project_id, query, attr, abort) => {
      const checked = checkQuery(query, attr);
      const wait = { owner: project_id, msMax: queryLimits.queriesWaitMsMax, busy: tooManyQueries };
      return await places.run(wait, () => run(project_id, checked, abort));
    },
  };
}

function answer(checked: CheckedQuery, asking: QueryContext): Promise<QueryAnswer> {
  switch (checked.kind) {
    case "TrendsQuery":
      return answerTrends(asking, checked);
    case "FunnelsQuery":
      return answerFunnels(asking, checked);
    case "RetentionQuery":
      return answerRetention(asking, checked);
    case "EventsQuery":
      return answerEvents(asking, checked);
  }
}

function tooManyQueries(): Fault {
  const detail = "Too many queries are waiting already. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}
