// Runs queries, a few at a time, in the time zone of their project. Results that took long to compute are cached for
// some minutes, for callers that accept them.

import type { Clock } from "../core/clock.ts";
import { toNow } from "../core/dates.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { hashKey } from "../core/id.ts";
import { trimToChars } from "../core/trim.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { readStoredZone, tooManyZones } from "../storage/clickhouse/zones.ts";
import type { PropertyFilter } from "../storage/events/property_filter.ts";
import { testAccountFilters } from "../storage/events/test_accounts.ts";
import type { Uses } from "../storage/services.ts";
import { MemoryBudget } from "../work/bodies/memory_budget.ts";
import { chooseBounds, type QueryStore } from "./bounds.ts";
import { checkQuery, type KnownQuery, storedQuery } from "./check.ts";
import { zonedIso } from "./date_range.ts";
import { answerDescribed, isDescribed } from "./hogql/described.ts";
import { queryLimits } from "./limits.ts";
import { openQueryPermits, type QueryCaller, type RunningQuery } from "./permits.ts";
import { type CachedResult, ResultCache, writtenResult } from "./results/result_cache.ts";
import type { SqlParser } from "./sql/parser/parser.ts";
import type { TextReader } from "./sql/run.ts";
import { findUnshown, findUnshownKey, type ShownColumns } from "./sql/shown_columns.ts";
import { isCalledLikeId } from "./sql/shown_lists.ts";
import {
  openQueryRunners,
  openQueryStore,
  type QueriedProject,
  queriedProject,
  type QueryAnswer,
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
  /** Facts about the store; by default it is queried. */
  store?: QueryStore;
  /** Counts the bytes of queries that wait or run; one of its own by default. */
  texts?: MemoryBudget;
}

/** Fields of a request besides the query. */
interface AnswerOptions extends QueryCaller {
  /** Whether a result of the last minutes is accepted. */
  mayBeCached: boolean;
  /** Called when it begins to run. */
  onBegin?: () => void;
  /** Whether its bytes are counted already. */
  isCounted?: boolean;
}

export function openQueryEngine({
  sql,
  clickhouse,
  clock,
  parser: { parse },
  cpuSecondsMax,
  store = openQueryStore(clickhouse, clock),
  results: cache = new ResultCache(clock),
  texts = openQueryTexts(clock),
}: EngineOptions) {
  const withPermit = openQueryPermits(store);
  const { zones } = clickhouse;
  let running = 0;

  /** @param work runs while the query holds a permit. */
  const withBounds = async <Value>(
    { timezone: zone, ...scope }: QueryScope,
    { abort, mustYield }: RunningQuery,
    work: (context: QueryContext) => Promise<Value>,
  ): Promise<Value> => {
    const timezone = readStoredZone(zone);
    if (!zones.admit(scope.project_id, timezone, true)) throw new Fault("invalid_input", tooManyZones);
    const admitZone = (name: string) => zones.admit(scope.project_id, name);
    running++;
    try {
      const bounds = await chooseBounds(store, cpuSecondsMax, () => running, mustYield);
      const runners = openQueryRunners(abort ? readsUntil(clickhouse, abort) : clickhouse, clock, bounds);
      return await work({ ...runners, ...scope, parse, timezone, admitZone });
    } finally {
      running--;
    }
  };

  const compute = async (
    { scope, query, filters, shown }: PreparedQuery,
    run: RunningQuery,
  ): Promise<QueryResult> => {
    const { timezone, now } = scope;
    const answered = await withBounds(scope, run, (context) => query.answer(context, filters));
    refuseUnshown(shown, answered);
    const { span, interval = null, ...answer } = answered;
    return {
      ...answer,
      kind: query.kind,
      type: query.result,
      interval,
      date_from: span ? zonedIso(span.from) : null,
      date_to: span ? zonedIso(span.to.subtract({ microseconds: 1 })) : null,
      timezone,
      computed_at: new Date(now).toISOString(),
    };
  };

  const readScope = async (project_id: number, { scopes = [] }: QueryCaller) => {
    const project = await queriedProject(sql, project_id);
    if (project === undefined) throw new Fault("not_found", "Project not found.");
    const { timezone, weekStart, groupTypes, ...deletions } = project;
    return { scope: { project_id, timezone, weekStart, groupTypes, now: clock.now(), scopes }, ...deletions };
  };

  const openReader = async (project_id: number) => {
    const { groupTypes } = (await queriedProject(sql, project_id)) ?? {};
    return { parse, project_id, groupTypes };
  };

  const prepare = async (
    project_id: number,
    query: KnownQuery,
    caller: QueryCaller,
  ): Promise<PreparedQuery> => {
    const project = await readScope(project_id, caller);
    const filters = query.filtersTestAccounts ? await testAccountFilters(sql, project_id) : [];
    const shown = caller.isReader
      ? await findShown(query, { parse, project_id }).catch(refuseReader)
      : undefined;
    return { ...project, query, filters, shown };
  };

  /** Counts the bytes of a query while `work` runs it. */
  const counted = async <Value>(project_id: number, query: unknown, work: () => Promise<Value>) => {
    const releaseCount = countQuery(texts, project_id, query);
    return await work().finally(releaseCount);
  };

  const findResult = (key: string, { isDeleting }: PreparedQuery) => {
    const result = isDeleting ? undefined : cache.find(key);
    return result && { ...result, is_cached: true as const };
  };

  const answerChecked = async (
    project_id: number,
    { query, checked }: { query: unknown; checked: KnownQuery },
    { mayBeCached, onBegin, ...caller }: AnswerOptions,
  ): Promise<(QueryResult | CachedResult) & { is_cached: boolean }> => {
    const prepared = await prepare(project_id, checked, caller);
    const key = buildCacheKey(prepared, query);
    const cached = mayBeCached ? findResult(key, prepared) : undefined;
    if (cached) return cached;
    return await withPermit(project_id, caller, async (run) => {
      onBegin?.();
      const began = clock.elapsed();
      const computed = await compute({ ...prepared, scope: { ...prepared.scope, now: clock.now() } }, run);
      const sent = Bun.hash(JSON.stringify(query)).toString(16);
      const result = { ...computed, cache_key: `cache_${project_id}_${sent}` };
      const isWorthCaching = clock.elapsed() - began >= queryLimits.resultWorthMsMin;
      // A deletion that is requested meanwhile changes the key.
      if (isWorthCaching && !prepared.isDeleting) cache.retain(key, project_id, await writtenResult(result));
      return { ...result, is_cached: false };
    });
  };

  return {
    /**
     * The kind of a query, the type of its results, a title of at most 400 characters, and its form in a saved insight,
     * without running it.
     * @throws Fault for the first thing that is wrong in it, named below `attr`.
     */
    check: (query: unknown, attr?: string) => {
      const { kind, result: type, title } = checkQuery(query, attr);
      const stored = storedQuery(query as Record<string, unknown>);
      return { kind, type, title: trimToChars(title, titleCharsMax), stored };
    },
    /**
     * Reads the texts of SQL in a query without running it.
     * @throws Fault for what is wrong in one, named by it; `unavailable` when too many texts wait.
     */
    read: async (project_id: number, query: unknown) =>
      await checkQuery(query).read(await openReader(project_id)),
    /** The reply to a query about the language; undefined for any other. @throws Fault for a wrong field of it. */
    describe: async (project_id: number, query: unknown) =>
      isDescribed(query) ? await answerDescribed(await openReader(project_id), query) : undefined,
    /** The columns of a query that a link shows, as a kind has it; null for all. @throws Fault where it shows none. */
    shownColumns: (project_id: number, query: unknown, confirmed?: ReadonlySet<string>) =>
      checkQuery(query).shownColumns({ parse, project_id }, confirmed),
    /**
     * Runs a query over one project's events.
     * @throws Fault for what is wrong in it, when it is too heavy, and `unavailable` when too many queries wait.
     */
    run: async (project_id: number, query: unknown, caller: QueryCaller = {}) => {
      const checked = checkQuery(query);
      const work = async (run: RunningQuery) => compute(await prepare(project_id, checked, caller), run);
      return await counted(project_id, query, () => withPermit(project_id, caller, work));
    },
    /** The query's cached result, if any. @throws Fault for what is wrong in the query. */
    findCached: async (project_id: number, query: unknown, caller: QueryCaller = {}) => {
      const prepared = await prepare(project_id, checkQuery(query), caller);
      return findResult(buildCacheKey(prepared, query), prepared);
    },
    /** Runs a query, or returns a cached result. @throws as run. */
    answer: async (project_id: number, query: unknown, options: AnswerOptions) => {
      const checked = checkQuery(query);
      const work = () => answerChecked(project_id, { query, checked }, options);
      return await (options.isCounted ? work() : counted(project_id, query, work));
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
      await withPermit(project_id, caller, async (run) =>
        withBounds((await readScope(project_id, caller)).scope, run, work),
      ),
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
type QueryScope = Pick<
  QueryContext,
  "project_id" | "timezone" | "weekStart" | "groupTypes" | "now" | "scopes"
>;

/** A query that is about to be computed. */
interface PreparedQuery extends Pick<QueriedProject, "deletion" | "isDeleting"> {
  scope: QueryScope;
  query: KnownQuery;
  filters: PropertyFilter[];
  /** For a reader, its columns, and null where a link would show all. */
  shown: ShownColumns | null | undefined;
}

/** The columns that a reader sees. @throws Fault where a link shows none, and for values and figures of ids. */
async function findShown(query: KnownQuery, reader: TextReader) {
  const property = query.shownProperties.find((name) => isCalledLikeId([name]));
  if (property !== undefined)
    refuseInput(`It shows values of "${property}", which is called like an id.`, "query");
  return await query.shownColumns(reader);
}

/** @throws Fault permission_denied with the reason, but `unavailable` as it is. */
function refuseReader(thrown: unknown): never {
  if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
  throw new Fault("permission_denied", `A reader sees what a link would show. ${thrown.detail}`);
}

/** @throws Fault permission_denied for a figure that is no number, and a key that is an object. */
function refuseUnshown(shown: PreparedQuery["shown"], { table, results }: QueryAnswer): void {
  if (shown === undefined) return;
  const detail = findUnshown(shown, table?.types) ?? findUnshownKey(shown ?? { areFigures: [] }, results);
  if (detail !== undefined) refuseReader(new Fault("invalid_input", detail));
}

/** It includes the caller's scopes, whether it is a reader, the last deletion, and the filters of test accounts. */
function buildCacheKey({ scope, filters, deletion, shown }: PreparedQuery, query: unknown): string {
  const { now, ...facts } = scope;
  const day = toNow({ now, timezone: readStoredZone(facts.timezone) }).toPlainDate();
  return hashKey(JSON.stringify([facts, day, deletion, filters, shown !== undefined, query]));
}

/** PostHog's bound for a name, in characters. */
const titleCharsMax = 400;
