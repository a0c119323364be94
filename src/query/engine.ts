// Runs queries, a few at a time, in the time zone of their project. Results that took long to compute are cached for
// some minutes, for callers that accept them.

import type { Clock } from "../core/clock.ts";
import { Fault, unavailable } from "../core/fault.ts";
import { hashKey } from "../core/id.ts";
import { trimToChars } from "../core/trim.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { readStoredZone, tooManyZones } from "../storage/clickhouse/zones.ts";
import type { PropertyFilter } from "../storage/events/property_filter.ts";
import { testAccountFilters } from "../storage/events/test_accounts.ts";
import type { Uses } from "../storage/services.ts";
import type { Work } from "../storage/work_watch.ts";
import { MemoryBudget } from "../work/bodies/memory_budget.ts";
import type { Owner } from "../work/fair_share.ts";
import { Semaphore } from "../work/semaphore.ts";
import { chooseBounds, countUsual, type QueryStore } from "./bounds.ts";
import { checkQuery, type KnownQuery, storedQuery } from "./check.ts";
import { toNow, zonedIso } from "./date_range.ts";
import { queryLimits } from "./limits.ts";
import { type CachedResult, ResultCache, writtenResult } from "./results/result_cache.ts";
import type { SqlParser } from "./sql/parser/parser.ts";
import {
  openQueryRunners,
  openQueryStore,
  type QueriedProject,
  queriedProject,
  type QueryContext,
  type QueryResult,
} from "./store.ts";

export type QueryEngine = ReturnType<typeof openQueryEngine>;

export interface EngineOptions extends Uses<"sql" | "clickhouse" | "clock"> {
  parser: SqlParser;
  /** A new one by default. */
  results?: ResultCache;
  /** QUERY_CPU_SECONDS_MAX; by default it follows from the store's cores. */
  cpuSecondsMax?: number | undefined;
  /** What is known of the store; by default it is asked. */
  store?: QueryStore;
  /** Counts the bytes of queries that wait or run; one of its own by default. */
  texts?: MemoryBudget;
}

/** The caller that waits for the answer; by default without a key. */
export interface QueryCaller {
  /** Scopes of the request's key. */
  scopes?: readonly string[];
  abort?: AbortSignal;
  /** Who asks: the people of a project take turns. */
  person?: Owner;
}

/** What a request has besides the query. */
interface AnswerOptions extends QueryCaller {
  /** Whether a result of the last minutes is accepted. */
  mayBeCached: boolean;
  /** How long it may wait to run, in ms; queryLimits.queriesWaitMsMax by default. */
  waitMsMax?: number;
  /** Called when it begins to run. */
  onBegin?: () => void;
  /** Whether its bytes are counted already. */
  isCounted?: boolean;
}

export function openQueryEngine({
  sql,
  clickhouse,
  clock,
  parser,
  cpuSecondsMax,
  store = openQueryStore(clickhouse, clock),
  results: cache = new ResultCache(clock),
  texts = openQueryTexts(clock),
}: EngineOptions) {
  const { queriesRunningMax, queriesWaitingMax, queriesRunningFreeMultiple } = queryLimits;
  const permits = new Semaphore(queriesRunningMax, queriesWaitingMax, queriesRunningFreeMultiple);
  const longPermits = new Semaphore(
    queryLimits.queriesLongMax,
    queriesWaitingMax,
    queryLimits.queriesLongFreeMultiple,
  );
  let running = 0;

  /** @param work runs while the query holds a permit. */
  const withBounds = async <Value>(
    scope: QueryScope,
    { abort, mustYield }: RunningQuery,
    work: (context: QueryContext) => Promise<Value>,
  ): Promise<Value> => {
    const { project_id, now, scopes, weekStart = 0 } = scope;
    const { zones } = clickhouse;
    const timezone = readStoredZone(scope.timezone);
    if (!zones.admit(project_id, timezone, true)) throw new Fault("invalid_input", tooManyZones);
    const admitZone = (zone: string) => zones.admit(project_id, zone);
    running++;
    try {
      const bounds = await chooseBounds(store, cpuSecondsMax, () => running, mustYield);
      const runners = openQueryRunners(abort ? readsUntil(clickhouse, abort) : clickhouse, clock, bounds);
      const { parse } = parser;
      return await work({ ...runners, parse, scopes, project_id, timezone, weekStart, admitZone, now });
    } finally {
      running--;
    }
  };

  const compute = async (prepared: PreparedQuery, run: RunningQuery): Promise<QueryResult> => {
    const { query, timezone, now, filters } = prepared;
    const { span, interval, ...answer } = await withBounds(prepared, run, (context) =>
      query.answer(context, filters),
    );
    return {
      ...answer,
      kind: query.kind,
      type: query.result,
      interval: interval ?? null,
      date_from: span ? zonedIso(span.from) : null,
      date_to: span ? zonedIso(span.to.subtract({ microseconds: 1 })) : null,
      timezone,
      computed_at: new Date(now).toISOString(),
    };
  };

  const readProject = async (project_id: number): Promise<QueriedProject> => {
    const project = await queriedProject(sql, project_id);
    if (project === undefined) throw new Fault("not_found", "Project not found.");
    return project;
  };

  const prepare = async (
    project_id: number,
    query: KnownQuery,
    scopes: readonly string[] = [],
  ): Promise<PreparedQuery & QueriedProject> => {
    const project = await readProject(project_id);
    const filters = query.filtersTestAccounts ? await testAccountFilters(sql, project_id) : [];
    return { ...project, query, project_id, now: clock.now(), filters, scopes };
  };

  /** @param work is run again, once, if it was long and others of its project waited. */
  const withPermit = async <Value>(
    owner: number,
    { abort, person, waitMsMax = queryLimits.queriesWaitMsMax }: QueryCaller & { waitMsMax?: number },
    work: (run: RunningQuery) => Promise<Value>,
  ): Promise<Value> => {
    const usual = await countUsual(store, owner);
    const longSeconds = Math.max(queryLimits.longCpuSecondsMin, usual * queryLimits.longUsualMultiple);
    const until = clock.elapsed() + waitMsMax;
    const wait = (spare = 0) => {
      const more = {
        msMax: Math.max(0, until - clock.elapsed()),
        busy: tooManyQueries,
        ...(abort && { abort }),
      };
      return { owner, person, spare, ...more };
    };
    const begin = (mustYield?: RunningQuery["mustYield"]) =>
      permits.run(wait(usual > queryLimits.lightCpuSecondsMax ? 1 : 0), () => work({ abort, mustYield }));
    let leaveLong: (() => void) | undefined;
    let hasYielded = false;
    const mustYield = (seconds: number): boolean => {
      if (hasYielded) return true;
      if (leaveLong || seconds < longSeconds || permits.countWaiting(owner) === 0) return false;
      leaveLong = longPermits.tryEnter(owner);
      hasYielded = leaveLong === undefined;
      return hasYielded;
    };
    try {
      return await begin(mustYield);
    } catch (thrown) {
      if (!hasYielded) throw thrown;
    } finally {
      leaveLong?.();
    }
    return await longPermits.run(wait(), () => begin());
  };

  const cachedResult = (key: string, { isDeleting }: QueriedProject) => {
    const result = isDeleting ? undefined : cache.find(key);
    return result && { ...result, is_cached: true as const };
  };

  const answer = async (
    { project_id, query, checked }: { project_id: number; query: unknown; checked: KnownQuery },
    { mayBeCached, onBegin, ...caller }: AnswerOptions,
  ): Promise<(QueryResult | CachedResult) & { is_cached: boolean }> => {
    const prepared = await prepare(project_id, checked, caller.scopes);
    const key = buildCacheKey(prepared, query);
    const cached = mayBeCached ? cachedResult(key, prepared) : undefined;
    if (cached) return cached;
    const work = async (run: RunningQuery) => {
      onBegin?.();
      const began = clock.elapsed();
      const result = await compute({ ...prepared, now: clock.now() }, run);
      const isWorthCaching = clock.elapsed() - began >= queryLimits.resultWorthMsMin;
      // A deletion that is requested meanwhile changes the key.
      if (isWorthCaching && !prepared.isDeleting) cache.retain(key, project_id, await writtenResult(result));
      return { ...result, is_cached: false };
    };
    return await withPermit(project_id, caller, work);
  };

  return {
    /**
     * The kind of a query, the type of its results, a title of at most 400 characters, and its form in a saved insight,
     * without running it.
     * @throws Fault for the first thing that is wrong in it, named below `attr`.
     */
    check: (query: unknown, attr?: string) => {
      const { kind, result: type, title } = checkQuery(query, attr);
      return {
        kind,
        type,
        title: trimToChars(title, titleCharsMax),
        stored: storedQuery(query as Record<string, unknown>),
      };
    },
    /**
     * Reads the texts of SQL in a query without running it.
     * @throws Fault for what is wrong in one, named by it; `unavailable` when too many texts wait.
     */
    read: (project_id: number, query: unknown) => checkQuery(query).read({ parse: parser.parse, project_id }),
    /**
     * Runs a query over one project's events.
     * @throws Fault for what is wrong in it, when it is too heavy, and `unavailable` when too many queries wait.
     */
    run: async (project_id: number, query: unknown, caller: QueryCaller = {}) => {
      const checked = checkQuery(query);
      const releaseCount = countQuery(texts, project_id, query);
      return await withPermit(project_id, caller, async (run) =>
        compute(await prepare(project_id, checked, caller.scopes), run),
      ).finally(releaseCount);
    },
    /** The query's cached result, if any. @throws Fault for what is wrong in the query. */
    findCached: async (project_id: number, query: unknown, { scopes }: QueryCaller = {}) => {
      const prepared = await prepare(project_id, checkQuery(query), scopes);
      return cachedResult(buildCacheKey(prepared, query), prepared);
    },
    /**
     * Runs a query, or returns a cached result.
     * @throws as run.
     */
    answer: async (project_id: number, query: unknown, options: AnswerOptions) => {
      const checked = checkQuery(query);
      if (options.isCounted) return await answer({ project_id, query, checked }, options);
      const releaseCount = countQuery(texts, project_id, query);
      return await answer({ project_id, query, checked }, options).finally(releaseCount);
    },
    /**
     * Runs `work`, which reads events as queries do, with a query's permit and bounds.
     * @throws what `work` throws; otherwise as run.
     */
    within: async <Value>(
      project_id: number,
      caller: QueryCaller,
      work: (context: QueryContext) => Promise<Value>,
    ) =>
      await withPermit(project_id, caller, async (run) => {
        const { timezone, weekStart } = await readProject(project_id);
        const { scopes = [] } = caller;
        return await withBounds({ project_id, timezone, weekStart, now: clock.now(), scopes }, run, work);
      }),
    /** Drops all cached results: events that they count were deleted. */
    forgetResults: () => cache.clear(),
  };
}

export function openQueryTexts(clock: Clock): MemoryBudget {
  const { queriesBytesMax: bytesMax, queriesOfProjectBytesMax: shareBytesMax } = queryLimits;
  return new MemoryBudget({ bytesMax, shareBytesMax, clock });
}

/**
 * Counts a query that waits or runs, until the function that is returned is called: its request has released the
 * memory of its body.
 * @throws Fault unavailable when queries have too many bytes.
 */
export function countQuery(texts: MemoryBudget, project_id: number, query: unknown): () => void {
  const lease = texts.open();
  lease.assign(project_id);
  lease.acquire(Buffer.byteLength(JSON.stringify(query) ?? ""));
  return () => lease.close();
}

/** The project, time zone and time of a query. */
type QueryScope = Pick<QueryContext, "project_id" | "timezone" | "weekStart" | "now" | "scopes">;

/** Reasons to end a query that has begun: its caller leaves, or others wait. */
interface RunningQuery {
  abort: AbortSignal | undefined;
  mustYield: Work["mustYield"] | undefined;
}

/** A query that is about to be computed. */
interface PreparedQuery extends QueryScope {
  query: KnownQuery;
  filters: PropertyFilter[];
}

/** It includes the caller's scopes, the last deletion, and the filters of test accounts. */
function buildCacheKey(
  { project_id, timezone, weekStart, now, filters, deletion, scopes }: PreparedQuery & QueriedProject,
  query: unknown,
): string {
  const day = toNow({ now, timezone: readStoredZone(timezone) })
    .toPlainDate()
    .toString();
  return hashKey(JSON.stringify([project_id, timezone, weekStart, day, deletion, filters, scopes, query]));
}

/** PostHog's bound for a name, in characters. */
const titleCharsMax = 400;

const tooManyQueries = () => unavailable("Too many queries are waiting already. Please retry.");
