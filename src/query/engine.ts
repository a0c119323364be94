// Runs queries, a few at a time, in the time zone of their project. Results are not cached.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { testAccountFilters } from "../storage/events/test_accounts.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { Semaphore } from "../work/semaphore.ts";
import { type CheckedQuery, checkQuery } from "./check.ts";
import { zonedIso } from "./date_range.ts";
import { answerEvents } from "./events/events.ts";
import { answerFunnels } from "./funnel/funnel.ts";
import { queryLimits } from "./limits.ts";
import { answerRetention } from "./retention/retention.ts";
import { openQueryRunner, type QueryAnswer, type QueryContext, timezoneOf } from "./store.ts";
import { storedQuery } from "./stored_query.ts";
import { titleOf } from "./title.ts";
import { answerTrends } from "./trends/trends.ts";

interface QueryResult extends Omit<QueryAnswer, "span" | "interval"> {
  interval: string | null;
  /** ISO 8601 in the project's time zone; the end is inclusive. */
  date_from: string;
  date_to: string;
  timezone: string;
  /** When it was computed, ISO 8601. */
  computed_at: string;
}

export interface QueryEngine {
  /**
   * The kind and the title of a query, and how an insight keeps it, without running it.
   * @throws Fault for the first thing that is wrong in it, named below `attr`.
   */
  check(
    query: unknown,
    attr?: string,
  ): { kind: CheckedQuery["kind"]; title: string; stored: Record<string, unknown> };
  /**
   * Runs a query over one project's events, for at most limits.querySecondsMax, until `abort`.
   * @throws Fault for what is wrong in it, when it is too heavy, and `unavailable` when too many queries wait.
   */
  run(project_id: number, query: unknown, attr?: string, abort?: AbortSignal): Promise<QueryResult>;
}

interface EngineOptions {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export function openQueryEngine({ sql, clickhouse, clock }: EngineOptions): QueryEngine {
  const semaphore = new Semaphore(
    queryLimits.queriesRunningMax,
    queryLimits.queriesWaitingMax,
    limits.workingShare,
  );
  const runChecked = async (project_id: number, checked: CheckedQuery, abort?: AbortSignal) => {
    const timezone = await timezoneOf(sql, project_id);
    if (timezone === undefined) throw new Fault("not_found", "Project not found.");
    const now = clock.now();
    const run = openQueryRunner(abort ? readsUntil(clickhouse, abort) : clickhouse, clock);
    const asked = await withoutTestAccounts(sql, project_id, checked);
    const { span, interval, ...answered } = await answer(asked, { run, project_id, timezone, now });
    return {
      ...answered,
      interval: interval ?? null,
      date_from: zonedIso(span.from),
      date_to: zonedIso(span.to.subtract({ microseconds: 1 })),
      timezone,
      computed_at: new Date(now).toISOString(),
    };
  };
  return {
    check: (query, attr) => {
      const checked = checkQuery(query, attr);
      return {
        kind: checked.kind,
        title: titleOf(checked),
        stored: storedQuery(query as Record<string, unknown>),
      };
    },
    run: async (project_id, query, attr, abort) => {
      const checked = checkQuery(query, attr);
      const wait = { owner: project_id, msMax: queryLimits.queriesWaitMsMax, busy: tooManyQueries };
      return await semaphore.run(wait, () => runChecked(project_id, checked, abort));
    },
  };
}

/** With `filterTestAccounts`, the query of the events that pass the project's own filters too. */
async function withoutTestAccounts<Checked extends CheckedQuery>(
  sql: Postgres,
  project_id: number,
  checked: Checked,
): Promise<Checked> {
  if (checked.query.filterTestAccounts !== true) return checked;
  return { ...checked, filters: [...checked.filters, ...(await testAccountFilters(sql, project_id))] };
}

function answer(checked: CheckedQuery, context: QueryContext): Promise<QueryAnswer> {
  switch (checked.kind) {
    case "TrendsQuery":
      return answerTrends(context, checked);
    case "FunnelsQuery":
      return answerFunnels(context, checked);
    case "RetentionQuery":
      return answerRetention(context, checked);
    case "EventsQuery":
      return answerEvents(context, checked);
  }
}

function tooManyQueries(): Fault {
  const detail = "Too many queries are waiting already. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}
