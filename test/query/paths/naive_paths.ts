// Paths answered the simplest way, user by user and visit by visit: what the engine's are compared with.

import type { PathLink } from "../../../src/query/result.ts";
import type { NaiveEvent } from "../naive.ts";

export interface NaivePaths {
  includeEventTypes: string[];
  excludeEvents: string[];
  pathGroupings: string[];
  startPoint: string | null;
  endPoint: string | null;
  stepLimit: number | null;
  edgeLimit: number | null;
  minEdgeWeight: number | null;
  maxEdgeWeight: number | null;
}

/** The name of an event's step; undefined where it is none. */
function nameOf({ event, properties }: NaiveEvent, asked: NaivePaths): string | undefined {
  const { includeEventTypes: types, excludeEvents, pathGroupings } = asked;
  const type = event.startsWith("$") ? event : "custom_event";
  if (types.length > 0 && !types.includes(type)) return undefined;
  const isNamed = types.length > 0 ? types.includes(event) : !excludeEvents.includes(event);
  const text = (name: string) => String(properties[name] ?? "");
  const url = text("$current_url");
  const own =
    event === "$pageview" && isNamed
      ? url.length > 1 && url.endsWith("/")
        ? url.slice(0, -1)
        : url
      : event === "$screen" && isNamed
        ? text("$screen_name")
        : event;
  const name = pathGroupings.find((one) => hasParts(own, one.split("*"))) ?? own;
  return excludeEvents.includes(name) ? undefined : name;
}

/** Whether the parts stand in a text one after the other. */
function hasParts(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

interface Step {
  at: number;
  name: string;
}

const pauseMs = 1_800_000;

/** What each user did with no long pause, what came several times in a row once, at the last of its times. */
function visitsOf(of: readonly NaiveEvent[], asked: NaivePaths): Step[][] {
  return [...Map.groupBy(of, ({ distinct_id }) => distinct_id).values()].flatMap((all) => {
    const own = all
      .flatMap((one) => {
        const name = nameOf(one, asked);
        return name === undefined ? [] : [{ at: one.at, name }];
      })
      .toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const found: Step[][] = [];
    for (const [i, step] of own.entries()) {
      const visit = found.at(-1);
      if (!visit || step.at - own[i - 1]!.at >= pauseMs) found.push([step]);
      else if (visit.at(-1)!.name === step.name) visit[visit.length - 1] = step;
      else visit.push(step);
    }
    return found;
  });
}

const withoutSlash = (text: string) => (text.length > 1 && text.endsWith("/") ? text.slice(0, -1) : text);

/** The part of a visit that is shown. */
function shownOf(visit: Step[], { startPoint, endPoint, stepLimit }: NaivePaths): Step[] {
  const most = stepLimit ?? 5;
  const indexIn = (steps: Step[], point: string) =>
    steps.findIndex(({ name }) => name === withoutSlash(point));
  const from = startPoint ? indexIn(visit, startPoint) : 0;
  if (from === -1) return [];
  const begun = visit.slice(from);
  if (!endPoint) return begun.slice(0, most);
  const to = indexIn(begun, endPoint);
  if (to === -1) return [];
  const whole = begun.slice(0, to + 1);
  if (!startPoint) return whole.slice(-most);
  if (whole.length <= most) return whole;
  const half = Math.floor(most / 2);
  return [...whole.slice(0, half), { at: whole[half]!.at, name: "..." }, ...whole.slice(whole.length - half)];
}

export function linksOf(of: readonly NaiveEvent[], asked: NaivePaths): PathLink[] {
  const links = new Map<string, { source: string; target: string; times: number[] }>();
  for (const visit of visitsOf(of, asked)) {
    const shown = shownOf(visit, asked);
    for (const [i, step] of shown.slice(1).entries()) {
      const [source, target] = [`${i + 1}_${shown[i]!.name}`, `${i + 2}_${step.name}`];
      const key = JSON.stringify([source, target]);
      const known = links.get(key) ?? { source, target, times: [] };
      known.times.push(step.at - shown[i]!.at);
      links.set(key, known);
    }
  }
  const { minEdgeWeight, maxEdgeWeight, edgeLimit } = asked;
  const most = [...links.values()]
    .map(({ times, ...link }) => ({
      ...link,
      value: times.length,
      average_conversion_time: times.reduce((sum, one) => sum + one, 0) / times.length,
    }))
    .filter(({ value }) => value >= (minEdgeWeight ?? 0) && value <= (maxEdgeWeight ?? Infinity))
    .toSorted((a, b) => b.value - a.value || compare(a.source, b.source) || compare(a.target, b.target))
    .slice(0, edgeLimit ?? 50);
  const begun = new Set(most.map(({ source }) => source).filter((source) => source.startsWith("1_")));
  for (let size = -1; size !== begun.size;) {
    size = begun.size;
    for (const { source, target } of most) if (begun.has(source)) begun.add(target);
  }
  return most.filter(({ source }) => begun.has(source));
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
