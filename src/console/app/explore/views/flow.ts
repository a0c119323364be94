// The steps of paths as a flow: a column for each step, as high as it was taken often, and bands from step to step.

import type { PathLink } from "../../../../query/result.ts";

export interface FlowStep {
  /** As the API names it: `2_/tea`. */
  key: string;
  column: number;
  /** How often it was reached or left, whichever is more. */
  value: number;
  top: number;
  height: number;
}

export interface FlowBand {
  link: PathLink;
  /** Its upper corners, and how high it is. */
  from: { column: number; top: number };
  to: { column: number; top: number };
  height: number;
}

/** Pixels that the name of a step needs, between two steps, and of the lowest step. */
const [nameHeight, gap, heightMin] = [20, 6, 2];

const readStep = (key: string): number => Number.parseInt(key, 10);

/** @param tall pixels of the column that was taken most. */
export function layFlow(links: readonly PathLink[], tall: number) {
  const reached = sumBy(links, ({ target }) => target);
  const left = sumBy(links, ({ source }) => source);
  const keys = [...new Set([...left.keys(), ...reached.keys()])];
  const columns = [...new Set(keys.map(readStep))].toSorted((left, right) => left - right);
  const steps = keys.map((key): FlowStep => {
    const value = Math.max(reached.get(key) ?? 0, left.get(key) ?? 0);
    return { key, column: columns.indexOf(readStep(key)), value, top: 0, height: 0 };
  });
  const ordered = steps.toSorted((left, right) => right.value - left.value);
  const totals = sumBy(steps, ({ column }) => column);
  const scale = tall / Math.max(1, ...totals.values());
  const bottoms = columns.map(() => 0);
  for (const step of ordered) {
    step.top = bottoms[step.column]!;
    step.height = Math.max(heightMin, step.value * scale);
    bottoms[step.column] = step.top + Math.max(step.height, nameHeight) + gap;
  }
  const placed = new Map(ordered.map((step) => [step.key, step]));
  const bands = links.map((link): FlowBand => {
    const [from, to] = [placed.get(link.source)!, placed.get(link.target)!];
    return { link, from: { ...from }, to: { ...to }, height: link.value * scale };
  });
  stackEnds(bands, "source", "from", "to");
  stackEnds(bands, "target", "to", "from");
  return { steps: ordered, bands, columns: columns.length, height: Math.max(...bottoms) };
}

/** The bands of a step lie below each other, in the order of their other ends. */
function stackEnds(
  bands: readonly FlowBand[],
  name: "source" | "target",
  own: "from" | "to",
  other: "from" | "to",
): void {
  const ordered = bands.toSorted((left, right) => left[other].top - right[other].top);
  for (const ofStep of Map.groupBy(ordered, ({ link }) => link[name]).values()) {
    let { top } = ofStep[0]![own];
    for (const band of ofStep) {
      band[own].top = top;
      top += band.height;
    }
  }
}

function sumBy<Item extends { value: number }, Key>(items: readonly Item[], keyOf: (item: Item) => Key) {
  const sums = new Map<Key, number>();
  for (const item of items) sums.set(keyOf(item), (sums.get(keyOf(item)) ?? 0) + item.value);
  return sums;
}
