// Metrics and their text format for Prometheus. Counting neither waits nor throws.

import { httpLimits } from "../limits.ts";

class Counter {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

export class Histogram {
  /** Upper bounds of the buckets, ascending; larger values fall into the last, unbounded bucket. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
  }
}

export class Counters<Value extends string> {
  readonly label: string;
  readonly byValue = new Map<string, Counter>();

  constructor(label: string, values: readonly Value[] = []) {
    this.label = label;
    for (const value of values) this.of(value);
  }

  /**
   * The counter of a value; on a hot path, keep a reference to it. Beyond `httpLimits.labelValuesMax` values it is the
   * counter of "other".
   */
  of(value: Value): Counter {
    const existing = this.byValue.get(value);
    if (existing) return existing;
    const name = this.byValue.size < httpLimits.labelValuesMax ? value : "other";
    const counter = this.byValue.get(name) ?? new Counter();
    this.byValue.set(name, counter);
    return counter;
  }

  get value(): number {
    return this.byValue.values().reduce((sum, { value }) => sum + value, 0);
  }
}

type MetricKind = "counter" | "gauge" | "histogram";

/** The lines of one metric: names with labels, and numbers. Lines of several processes are added. */
interface MetricLines {
  kind: MetricKind;
  lines: [line: string, value: number][];
}

type ReadLines = () => MetricLines["lines"];

export type MetricsRead = Record<string, MetricLines>;

/** Metrics by name, in the order of registration. */
export class Registry {
  readonly #metrics = new Map<string, Pick<MetricLines, "kind"> & { help: string; read: ReadLines }>();

  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#register("counter", name, help, () => [[name, counter.value]]);
    return counter;
  }

  counters<Value extends string>(name: string, help: string, label: string, values?: readonly Value[]) {
    const counters = new Counters<Value>(label, values);
    this.#register("counter", name, help, () =>
      Array.from(counters.byValue, ([value, counter]) => [
        formatLine(name, { [label]: value }),
        counter.value,
      ]),
    );
    return counters;
  }

  /** A metric whose value is read on each request, if there is one; the value of a counter must not decrease. */
  followed(kind: "counter" | "gauge", name: string, help: string, read: () => number | undefined): void {
    this.#register(kind, name, help, () => {
      const value = read();
      return value === undefined ? [] : [[name, value]];
    });
  }

  /** A gauge that is always 1; its labels carry the information. */
  constant(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    this.#register("gauge", name, help, () => [[formatLine(name, labels), 1]]);
  }

  /** One gauge for each value of a label; `read` returns them whenever they are shown. */
  gauges(name: string, help: string, label: string, read: () => Iterable<[value: string, now: number]>) {
    this.#register("gauge", name, help, () =>
      Array.from(read(), ([value, now]) => [formatLine(name, { [label]: value }), now]),
    );
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#register("histogram", name, help, () => readHistogram(name, histogram));
    return histogram;
  }

  /** The lines of every metric now, to be added to those of other processes. */
  read(): MetricsRead {
    return Object.fromEntries(
      [...this.#metrics].map(([name, { kind, read }]) => [name, { kind, lines: read() }]),
    );
  }

  /** Prometheus's text format, version 0.0.4: the metrics here with those of `otherReads` added line by line. */
  render(otherReads: readonly MetricsRead[] = []): string {
    const text: string[] = [];
    for (const [name, { kind, help, read }] of this.#metrics) {
      text.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
      const lines = addUp([read(), ...otherReads.map((readings) => readings[name]?.lines ?? [])]);
      for (const [line, value] of lines) text.push(`${line} ${value}`);
    }
    return `${text.join("\n")}\n`;
  }

  #register(kind: MetricKind, name: string, help: string, read: ReadLines): void {
    if (this.#metrics.has(name)) throw new Error(`metric ${name} is registered twice`);
    this.#metrics.set(name, { kind, help, read });
  }
}

export interface Metrics {
  registry: Registry;
}

function readHistogram(name: string, { bounds, counts, sum }: Histogram): MetricLines["lines"] {
  const lines: MetricLines["lines"] = [];
  let total = 0;
  for (const [i, bound] of [...bounds, "+Inf"].entries())
    lines.push([`${name}_bucket{le="${bound}"}`, (total += counts[i]!)]);
  lines.push([`${name}_sum`, sum], [`${name}_count`, total]);
  return lines;
}

/** The sums of lines of one metric from several processes, in order of first appearance. */
function addUp(sources: readonly MetricLines["lines"][]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const lines of sources) {
    for (const [line, value] of lines) sums.set(line, (sums.get(line) ?? 0) + value);
  }
  return sums;
}

/**
 * The counts of a process that ended, added to `before`, those of processes that ended earlier. Gauges are dropped,
 * since they show a state that no longer exists.
 */
export function countedBy(ended: MetricsRead, before: MetricsRead): MetricsRead {
  const sums: MetricsRead = { ...before };
  for (const [name, { kind, lines }] of Object.entries(ended)) {
    if (kind === "gauge") continue;
    sums[name] = { kind, lines: [...addUp([before[name]?.lines ?? [], lines])] };
  }
  return sums;
}

function formatLine(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => {
    return `${label}="${value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`;
  });
  return `${name}{${pairs.join(",")}}`;
}
