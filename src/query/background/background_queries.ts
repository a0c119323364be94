// Background queries: the caller gets an id at once, and under it the result for some minutes. An id belongs to a key
// and its project. A query ends when its key may no longer send it, and when its id is deleted. All of it is in memory:
// a restart, or another server on the same stores, knows none of them.

import { type Access, covers, requireScopes, type Scope } from "../../access/scope.ts";
import { Fault, unavailable } from "../../core/fault.ts";
import { toReason } from "../../core/log.ts";
import { storeFault } from "../../http/store_fault.ts";
import type { Uses } from "../../storage/services.ts";
import type { MemoryBudget } from "../../work/bodies/memory_budget.ts";
import { FairShare } from "../../work/fair_share.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import { countQuery } from "../engine.ts";
import { queryLimits } from "../limits.ts";
import { type CachedResult, type ResultCache, writtenResult } from "../results/result_cache.ts";
import { type QueriedProject, queriedProject, type QueryResult } from "../store.ts";

/** The key, and the id of a query. */
export interface QueryName {
  project_id: number;
  access: Access;
  id: string;
}

export interface BackgroundParts extends Uses<"sql" | "clock" | "log"> {
  /** Shared with results that are returned again. */
  results: ResultCache;
  /** Counts the bytes of queries that wait or run. */
  texts: MemoryBudget;
}

interface BackgroundAsk {
  query: unknown;
  /** The key's access as the gate decides now; undefined where it is refused. */
  readmit: () => Promise<{ access: Access; project: { id: number } } | undefined>;
  /** Computes the result until the signal aborts; the query's bytes are counted. */
  compute: (abort: AbortSignal, onBegin: () => void) => Promise<QueryResult | CachedResult>;
}

/** A query, and its current state. */
interface BackgroundQuery extends Pick<QueryName, "id" | "project_id"> {
  key: string;
  /** The key's scopes when it started the query: it must still have them to read the result. */
  scopes: readonly string[];
  /** Whether a reader started it; what anybody else did is not a reader's to read, who may have become one. */
  isReader: boolean;
  /** Hash of the query text. */
  hash: bigint;
  /** Undefined when it has ended: it refers to the query, whose text is no longer counted. */
  running: { cancel: AbortController; readmit: BackgroundAsk["readmit"] } | undefined;
  startedAt: Date;
  /** When it got a permit; until then it waits for others. */
  begunAt?: Date;
  /** The project when the query began. */
  project: QueriedProject;
  endedAt?: Date;
  /** When it ended, in ms of the clock. */
  elapsed?: number;
  fault?: Fault | undefined;
  /** Whether its caller has read its result. */
  isRead?: boolean;
}

export type FoundQuery = BackgroundQuery & { result?: CachedResult };

export class BackgroundQueries {
  readonly #parts: BackgroundParts;
  readonly #permits = new FairShare(queryLimits.backgroundRunningMax, 1);
  /** Ended ones in the order of their end. */
  readonly #queries = new Map<string, BackgroundQuery>();
  /** Queries whose callers wait for them, by the same keys. */
  readonly #awaited = new Map<string, Set<AbortController>>();
  #ticking: IntervalTask | undefined;
  #closed = false;

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
  }

  /** @throws Fault conflict for an id of another query that runs, unavailable when too many run, or too long ones. */
  async begin(name: QueryName, { query, readmit, compute }: BackgroundAsk): Promise<FoundQuery> {
    const { project_id, access, id } = name;
    const { sql, clock, log } = this.#parts;
    const project = await queriedProject(sql, project_id);
    if (this.#closed || !project) throw new Fault("not_found", "Project not found.");
    const key = buildKey(name);
    const hash = Bun.hash.xxHash64(JSON.stringify(query));
    const before = this.#queries.get(key);
    if (before?.running) {
      if (before.hash === hash) return { ...before };
      const detail = "Another query with this id is running: cancel it, or use another id.";
      throw new Fault("conflict", detail, { attr: "client_query_id" });
    }
    if (!this.#permits.mayTake(project_id)) {
      const detail = "Too many queries run in the background already. Please retry.";
      throw unavailable(detail, queryLimits.busyRetrySeconds);
    }
    const uncount = countQuery(this.#parts.texts, project_id, query);
    const cancel = new AbortController();
    const { scopes, is_reader: isReader = false } = access.key;
    const running = { cancel, readmit };
    const startedAt = new Date(clock.now());
    const started: BackgroundQuery = {
      key,
      id,
      project_id,
      scopes,
      isReader,
      hash,
      running,
      startedAt,
      project,
    };
    this.#drop(key);
    this.#queries.set(key, started);
    this.#permits.acquire(project_id);
    this.#ticking ??= startInterval(
      queryLimits.backgroundCheckMs,
      "checking the keys of queries in the background",
      () => this.check(),
      log,
    );
    void this.#run(started, cancel.signal, compute).finally(() => {
      this.#permits.leave(project_id);
      uncount();
    });
    return { ...started };
  }

  /** Runs a query whose caller waits, and which its id cancels. @throws Fault conflict when it was cancelled. */
  async attend<Result>(
    name: QueryName,
    clientAbort: AbortSignal,
    compute: (abort: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const key = buildKey(name);
    const cancel = new AbortController();
    const awaited = this.#awaited.get(key) ?? new Set();
    this.#awaited.set(key, awaited.add(cancel));
    try {
      return await compute(AbortSignal.any([clientAbort, cancel.signal]));
    } catch (thrown) {
      if (!cancel.signal.aborted) throw thrown;
      throw new Fault("conflict", "The query was cancelled by its id.", { attr: "client_query_id" });
    } finally {
      awaited.delete(cancel);
      if (awaited.size === 0) this.#awaited.delete(key);
    }
  }

  /** @throws Fault not_found; permission_denied when the key has lost a scope since. */
  async find(name: QueryName): Promise<FoundQuery> {
    this.#dropEnded();
    const query = this.#queries.get(buildKey(name));
    if (!query) throw noQuery();
    if (!mayRead(name.access, query)) {
      this.#drop(query.key);
      throw noQuery();
    }
    requireScopes(name.access.key.scopes, query.scopes as Scope[]);
    query.isRead = query.endedAt !== undefined;
    if (!query.endedAt || query.fault) return { ...query };
    const result = this.#parts.results.find(query.key);
    const now = await queriedProject(this.#parts.sql, query.project_id);
    // A result from before a deletion is not returned, nor one from during a deletion that has ended.
    const { deletion, isDeleting } = query.project;
    if (!result || now?.deletion !== deletion || now.isDeleting !== isDeleting) {
      this.#drop(query.key);
      throw noQuery();
    }
    return { ...query, result };
  }

  /** The function that stops it, if it runs, and forgets its result. @throws Fault not_found */
  makeCancel(name: QueryName): () => void {
    const key = buildKey(name);
    if (!this.#queries.has(key) && !this.#awaited.has(key)) throw noQuery();
    return () => {
      for (const item of this.#awaited.get(key) ?? []) item.abort();
      this.#drop(key);
    };
  }

  /** Ends the queries whose key, or project, no longer allows them, and forgets those that ended minutes ago. */
  async check(): Promise<void> {
    this.#dropEnded();
    const running = [...this.#queries.values()].filter((query) => query.running);
    const checks = running.map(async (query) => {
      const now = await query.running?.readmit();
      const isAllowed =
        now?.project.id === query.project_id &&
        mayRead(now.access, query) &&
        query.scopes.every((scope) => covers(now.access.key.scopes, scope as Scope));
      if (!isAllowed && this.#queries.get(query.key) === query) this.#drop(query.key);
    });
    const failed = (await Promise.allSettled(checks)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const key of this.#queries.keys()) this.#drop(key);
    await this.#ticking?.close();
  }

  async #run(query: BackgroundQuery, abort: AbortSignal, compute: BackgroundAsk["compute"]): Promise<void> {
    const { clock, results } = this.#parts;
    let fault: Fault | undefined;
    try {
      const onBegin = () => void (query.begunAt = new Date(clock.now()));
      const result = await writtenResult(await compute(abort, onBegin));
      if (abort.aborted) return;
      if (!results.retain(query.key, query.project_id, result)) fault = tooLong();
    } catch (thrown) {
      if (abort.aborted) return;
      fault = this.#findFault(thrown);
    }
    const ended = { endedAt: new Date(clock.now()), elapsed: clock.elapsed(), fault };
    Object.assign(query, ended, { running: undefined });
    this.#queries.delete(query.key);
    this.#queries.set(query.key, query);
    this.#dropMany(query.project_id);
  }

  #findFault(thrown: unknown): Fault {
    const expected = thrown instanceof Fault ? thrown : storeFault(thrown);
    if (expected) return expected;
    this.#parts.log.error("a query in the background failed", { reason: toReason(thrown) });
    return new Fault("error", "A server error occurred.");
  }

  #drop(key: string): void {
    this.#queries.get(key)?.running?.cancel.abort();
    this.#queries.delete(key);
    this.#parts.results.drop(key);
  }

  #dropEnded(): void {
    const before = this.#parts.clock.elapsed() - queryLimits.resultKeptMs;
    for (const { key, elapsed } of this.#queries.values())
      if (elapsed !== undefined && elapsed < before) this.#drop(key);
  }

  /** Drops an ended one where a project, or all, have too many: one that was read, else the oldest. */
  #dropMany(project_id: number): void {
    const ended = [...this.#queries.values()].filter(({ endedAt }) => endedAt);
    const ofProject = ended.filter((item) => item.project_id === project_id);
    const isFull = ofProject.length > queryLimits.backgroundKeptOfProjectMax;
    if (!isFull && ended.length <= queryLimits.backgroundKeptMax) return;
    const among = isFull ? ofProject : ended;
    this.#drop((among.find(({ isRead }) => isRead) ?? among[0]!).key);
  }
}

function buildKey({ project_id, access, id }: QueryName): string {
  return JSON.stringify(["background", project_id, access.key.id, id]);
}

const mayRead = ({ key }: Access, { isReader }: BackgroundQuery): boolean => isReader || !key.is_reader;

function noQuery(): Fault {
  return new Fault("not_found", "There is no such query: this key did not start it, or it is forgotten.");
}

function tooLong(): Fault {
  const detail =
    `The result has more than ${queryLimits.resultsOfProjectBytesMax} bytes, too many to be kept. ` +
    "Ask for fewer rows, or wait for the answer.";
  return new Fault("invalid_input", detail, { attr: "query" });
}
