// Funnels answered the simplest way, person by person and attempt by attempt: what the engine's are held against.

import fc from "fast-check";
import { type NaiveEvent, textOf } from "../naive.ts";

/** A step or an exclusion as the API takes it, and what it means. */
export interface NaiveStep {
  node: { kind: "EventsNode"; event: string | null; properties?: unknown[] };
  is(event: NaiveEvent): boolean;
}

function stepOf(event: string | null, plan?: string): NaiveStep {
  const properties = plan === undefined ? undefined : [{ key: "plan", value: plan }];
  return {
    node: { kind: "EventsNode", event, ...(properties && { properties }) },
    is: (one) =>
      (event === null || one.event === event) &&
      (plan === undefined || textOf(one.properties, "plan") === plan),
  };
}

export const plainSteps = ["seen", "tried", "bought"].map((event) => stepOf(event));

/** Some of them may be of one event. */
export const allSteps = [
  ...plainSteps,
  stepOf("seen", "pro"),
  stepOf("seen", "free"),
  stepOf(null),
  stepOf(null, "pro"),
];

/** What is excluded: some of it may be a step, too. */
export const exclusionSteps = [stepOf("left"), stepOf("bought"), stepOf("left", "pro"), stepOf(null, "team")];

const users = ["ann", "bob", "cid", "dot", "eve", "fay", "gus", "hal"];

/** Events of twelve days in which clocks change, so dense that many of a person are of one moment. */
export const denseEvents = fc.array(
  fc.record({
    uuid: fc.uuid(),
    event: fc.constantFrom("seen", "tried", "bought", "left"),
    distinct_id: fc.constantFrom(...users),
    at: fc.integer({ min: 0, max: 95 }).map((slot) => Date.UTC(2024, 2, 24) + slot * 10_800_000),
    properties: fc.record({ plan: fc.constantFrom("free", "pro", "team", null) }, { requiredKeys: [] }),
  }),
  { minLength: 280, maxLength: 280 },
);

export type NaiveOrder = "ordered" | "strict" | "unordered";

/** What must not stand between two steps, by their indexes. */
export interface NaiveExclusion extends NaiveStep {
  from: number;
  to: number;
}

export interface NaiveFunnel {
  steps: readonly NaiveStep[];
  exclusions?: readonly NaiveExclusion[];
  order: NaiveOrder;
  windowMs: number;
}

/** What an event that begins the funnel leads to. */
export interface Attempt {
  /** When each step was reached, in ms since 1970. */
  times: number[];
  isExcluded: boolean;
}

/** Of each user who began the funnel. */
export function attemptsByUser(of: readonly NaiveEvent[], funnel: NaiveFunnel): Map<string, Attempt[]> {
  const { order } = funnel;
  const found = [...Map.groupBy(of, ({ distinct_id }) => distinct_id)].map(
    ([user, all]): [string, Attempt[]] => {
      const own = all
        .filter((one) => order === "strict" || maskOf(one, funnel) > 0 || bansOf(one, funnel).length > 0)
        // Of one moment, what is needed first comes first.
        .toSorted(
          (a, b) =>
            a.at - b.at || maskOf(a, funnel) - maskOf(b, funnel) || banOf(a, funnel) - banOf(b, funnel),
        );
      const attempts = own.map((_, i) =>
        order === "unordered"
          ? inAnyOrder(own.slice(i), funnel)
          : order === "strict"
            ? atOnce(own.slice(i), funnel)
            : inOrder(own.slice(i), funnel),
      );
      return [user, attempts.filter(({ times }) => times.length > 0)];
    },
  );
  return new Map(found.filter(([, attempts]) => attempts.length > 0));
}

function maskOf(event: NaiveEvent, { steps }: NaiveFunnel): number {
  return steps.reduce((mask, step, i) => mask + (step.is(event) ? 2 ** i : 0), 0);
}

/** The numbers of steps after which it must not stand; that of the first is 1. */
function bansOf(event: NaiveEvent, { steps, exclusions = [] }: NaiveFunnel): number[] {
  return steps
    .map((_, i) => i + 1)
    .filter((step) => exclusions.some((one) => one.is(event) && one.from < step && step <= one.to));
}

function banOf(event: NaiveEvent, funnel: NaiveFunnel): number {
  return bansOf(event, funnel).reduce((sum, step) => sum + 2 ** step, 0);
}

/** Each next step as soon as it comes. What is excluded between two of them ends it at the second. */
function inOrder(own: readonly NaiveEvent[], funnel: NaiveFunnel): Attempt {
  const { steps, windowMs } = funnel;
  const [first] = own;
  if (!first || !steps[0]!.is(first)) return { times: [], isExcluded: false };
  const end = first.at + windowMs;
  const times = [first.at];
  for (const one of own.slice(1)) if (one.at <= end && steps[times.length]?.is(one)) times.push(one.at);
  for (const [i, at] of times.entries()) {
    const next = times[i + 1] ?? end + 1;
    const isBanned = own.some((one) => one.at > at && one.at < next && bansOf(one, funnel).includes(i + 1));
    if (isBanned && i + 1 < steps.length) return { times: times.slice(0, i + 2), isExcluded: true };
  }
  return { times, isExcluded: false };
}

/** Each next step with the very next event. */
function atOnce(own: readonly NaiveEvent[], funnel: NaiveFunnel): Attempt {
  const { steps, windowMs } = funnel;
  const times: number[] = [];
  for (const one of own) {
    const isInTime = one.at <= own[0]!.at + windowMs;
    if (isInTime && steps[times.length]?.is(one)) times.push(one.at);
    else return { times, isExcluded: isInTime && bansOf(one, funnel).includes(times.length) };
  }
  return { times, isExcluded: false };
}

/** Each event that lets one step more have an event of its own, found by changing which has which. */
function inAnyOrder(own: readonly NaiveEvent[], funnel: NaiveFunnel): Attempt {
  const { steps, windowMs } = funnel;
  const times: number[] = [];
  const owners = new Map<number, NaiveEvent>();
  const place = (event: NaiveEvent, tried: Set<number>): boolean =>
    steps.some((step, i) => {
      if (tried.has(i) || !step.is(event)) return false;
      tried.add(i);
      const owner = owners.get(i);
      if (owner && !place(owner, tried)) return false;
      owners.set(i, event);
      return true;
    });
  for (const one of own) {
    if (one.at - own[0]!.at <= windowMs && place(one, new Set())) times.push(one.at);
  }
  const banned = own.find((one) => one.at > own[0]!.at && bansOf(one, funnel).length > 0);
  const isDone = times.length === steps.length && times.at(-1)! <= (banned?.at ?? 0);
  const hasBreakdown = banned !== undefined && banned.at <= own[0]!.at + windowMs && !isDone;
  return hasBreakdown || maskOf(own[0]!, funnel) === 0
    ? { times: [], isExcluded: false }
    : { times, isExcluded: false };
}

/**
 * The one that came furthest, of these the first to be there, and of these the last to begin; without order the first,
 * and of one moment the one with the earlier steps.
 */
export function bestOf(attempts: readonly Attempt[], order: NaiveOrder): Attempt {
  const begun = ({ times }: Attempt) => (order === "unordered" ? times[0]! : -times[0]!);
  return attempts.toSorted(
    (a, b) =>
      b.times.length - a.times.length ||
      Number(a.isExcluded) - Number(b.isExcluded) ||
      a.times.at(-1)! - b.times.at(-1)! ||
      begun(a) - begun(b) ||
      a.times.map((at, i) => at - b.times[i]!).find((one) => one !== 0) ||
      0,
  )[0]!;
}

/** By step: the persons who were there, and the seconds since the step before, on average and in the middle. */
export function stepsOf(of: readonly NaiveEvent[], funnel: NaiveFunnel) {
  const best = [...attemptsByUser(of, funnel).values()]
    .map((attempts) => bestOf(attempts, funnel.order))
    .filter(({ isExcluded }) => !isExcluded);
  return funnel.steps.map((_, i) => {
    const there = best.filter(({ times }) => times.length > i);
    const seconds = there
      .map(({ times }) => (i === 0 ? 0 : (times[i]! - times[i - 1]!) / 1000))
      .toSorted((a, b) => a - b);
    const none = i === 0 || seconds.length === 0;
    const [low, high] = [Math.floor, Math.ceil].map((round) => seconds[round((seconds.length - 1) / 2)]!);
    return {
      count: there.length,
      average_conversion_time: none ? null : seconds.reduce((sum, one) => sum + one, 0) / seconds.length,
      median_conversion_time: none ? null : (low! + high!) / 2,
    };
  });
}

type StepRange = readonly [from: number, to: number];

/** By the interval in which attempts begin: how many percent of the persons who came to one step came to the other. */
export function ratesOf(
  of: readonly NaiveEvent[],
  { steps, exclusions = [], ...rest }: NaiveFunnel,
  [from, to]: StepRange,
  keyOf: (at: number) => string,
): Map<string, number> {
  // In order, what is after the last step that counts does not.
  const end = rest.order === "unordered" ? steps.length - 1 : to;
  const funnel = {
    ...rest,
    steps: steps.slice(0, end + 1),
    exclusions: exclusions.map((one) => ({ ...one, to: Math.min(one.to, end) })),
  };
  const reached = new Map<string, number[]>();
  for (const attempts of attemptsByUser(of, funnel).values()) {
    for (const [key, own] of Map.groupBy(attempts, ({ times }) => keyOf(times[0]!))) {
      const { times, isExcluded } = bestOf(own, rest.order);
      if (!isExcluded) reached.set(key, [...(reached.get(key) ?? []), times.length]);
    }
  }
  const rates = [...reached].map(([key, counts]): [string, number] => {
    const [entered, converted] = [from, to].map((step) => counts.filter((count) => count > step).length);
    return [key, entered ? Math.round((converted! / entered) * 10_000) / 100 : 0];
  });
  return new Map(rates);
}

/** Persons by the seconds from one step to another, in bins; a minute wide where all took as long. */
export function timesOf(
  of: readonly NaiveEvent[],
  funnel: NaiveFunnel,
  [from, to]: StepRange,
  binCount: number | null,
): { bins: [number, number][]; average: number | null } {
  const seconds = [...attemptsByUser(of, funnel).values()]
    .map((attempts) => bestOf(attempts, funnel.order))
    .filter(({ times, isExcluded }) => times.length > to && !isExcluded)
    .map(({ times }) => (times[to]! - times[from]!) / 1000);
  const low = seconds.length > 0 ? Math.floor(Math.min(...seconds)) : 0;
  const high = seconds.length > 0 ? Math.ceil(Math.max(...seconds)) : 0;
  const count = binCount ?? Math.max(1, Math.ceil(Math.cbrt(seconds.length)));
  const width = Math.ceil((high - low) / count) || 60;
  const bins = Array.from({ length: count + 1 }, (_, i): [number, number] => {
    const start = low + i * width;
    return [start, seconds.filter((one) => one >= start && one < start + width).length];
  });
  const sum = seconds.reduce((total, one) => total + one, 0);
  return { bins, average: seconds.length > 0 ? sum / seconds.length : null };
}

/** The value of `plan` that each user counts for: of the first, or last, event of the funnel that has one. */
export function plansTouched(
  of: readonly NaiveEvent[],
  funnel: NaiveFunnel,
  touch: "first" | "last",
): Map<string, string | null> {
  const touched = users.map((user): [string, string | null] => {
    const own = of
      .filter((one) => one.distinct_id === user)
      .map((one) => ({ at: one.at, mask: maskOf(one, funnel), value: textOf(one.properties, "plan") }))
      .filter((one): one is typeof one & { value: string } => one.mask > 0 && one.value !== null)
      .toSorted((a, b) => a.at - b.at || a.mask - b.mask || (a.value < b.value ? -1 : 1));
    return [user, (touch === "first" ? own[0] : own.at(-1))?.value ?? null];
  });
  return new Map(touched);
}
