// Permits of queries: a few run at the same time, projects and their people in turn; one that is long makes room.

import type { KeyHolder } from "../access/store.ts";
import { unavailable } from "../core/fault.ts";
import type { Work } from "../storage/work_watch.ts";
import type { Owner } from "../work/fair_share.ts";
import { Semaphore } from "../work/semaphore.ts";
import { countUsual, type QueryStore } from "./bounds.ts";
import { queryLimits } from "./limits.ts";

/** The caller that waits for the answer; by default without a key. */
export interface QueryCaller {
  scopes?: readonly string[];
  /** Whether it sees only what a link would show: figures, and no events or persons one by one. */
  isReader?: boolean;
  abort?: AbortSignal;
  /** The person who sends it: the people of a project take turns. */
  person?: Owner;
  /** How long it may wait to run, in ms; queryLimits.queriesWaitMsMax by default. */
  waitMsMax?: number;
}

/** The caller of a request. SQL requires scopes of its own. */
export function toCaller({ key, user }: KeyHolder): QueryCaller {
  return { scopes: key.scopes, isReader: key.is_reader === true, person: user.id };
}

/** Reasons to end a query that has begun: its caller leaves, or others wait. */
export interface RunningQuery {
  abort: AbortSignal | undefined;
  mustYield: Work["mustYield"] | undefined;
}

export function openQueryPermits(store: QueryStore) {
  const { queriesRunningMax, queriesRunningFreeMultiple, queriesLongMax, queriesLongFreeMultiple } =
    queryLimits;
  const { queriesWaitingMax, queriesWaitMsMax, longCpuSecondsMin, longUsualMultiple } = queryLimits;
  const permits = new Semaphore(queriesRunningMax, queriesWaitingMax, queriesRunningFreeMultiple);
  const longPermits = new Semaphore(queriesLongMax, queriesWaitingMax, queriesLongFreeMultiple);

  /** @param work is run again, once, if it was long, others waited and no place for long ones was free. */
  return async <Value>(
    owner: number,
    { abort, person, waitMsMax = queriesWaitMsMax }: QueryCaller,
    work: (run: RunningQuery) => Promise<Value>,
  ): Promise<Value> => {
    const usual = await countUsual(store, owner);
    const longSeconds = Math.max(longCpuSecondsMin, usual * longUsualMultiple);
    const wait = (spare: number) => ({
      owner,
      person,
      spare,
      msMax: waitMsMax,
      busy: tooManyQueries,
      ...(abort && { abort }),
    });
    const begin = (mustYield?: RunningQuery["mustYield"]) =>
      permits.run(wait(usual > queryLimits.lightCpuSecondsMax ? 1 : 0), () => work({ abort, mustYield }));
    let leaveLong: (() => void) | undefined;
    let hasYielded = false;
    const mustYield = (seconds: number): boolean => {
      if (hasYielded) return true;
      if (leaveLong || seconds < longSeconds || permits.waiting === 0) return false;
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
    return await longPermits.run(wait(0), () => begin());
  };
}

const tooManyQueries = () => unavailable("Too many queries are waiting already. Please retry.");
