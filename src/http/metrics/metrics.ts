// What is counted, and how Prometheus reads it. Counting is adding to a number; never waits, never throws.

import { httpLimits } from "../limits.ts";

export class Counter {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

export class Gauge {
  #read: () => number = () => 0;

  get value(): number {
    return this.#read();
  }

  set(value: number): void {
    this.#read = () => value;
  }

  /** From now on, what `read` returns whenever somebody looks. */
  follow(read: () => number): void {
    this.#read = read;
  }
}

export class Histogram {
  /** Upper bounds of the buckets, rising; what is larger falls into the last, unbounded one. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
  }
}

/** One counter for each value of a label. */
export class Counters<Value extends string> {
  readonly label: string;
  readonly byValue = new Map<string, Counter>();

  constructor(label: string, values: readonly Value[] = []) {
    this.label = label;
    for (const value of values) this.of(value);
  }

  /**
   * The counter of one value; keep it where counting is hot. Past `httpLimits.labelValuesMax` values: that of
   * "other".
   */
  of(value: Value): Counter {
    const known = this.byValue.get(value);
    if (known) return known;
    const name = this.byValue.size < httpLimits.labelValuesMax ? value : "other";
    const counter = this.byValue.get(name) ?? new Counter();
    this.byValue.set(name, counter);
    return counter;
  }

  /** All values together. */
  get value(): number {
    let sum = 0;
    for (const counter of this.byValue.values()) sum += counter.value;
    return sum;
  }
}

type MetricKind = "counter" | "gauge" | "histogram";

/** What a metric shows: its lines' names, labels included, and their numbers. All kinds add up line by line. */
export interface MetricReading {
  kind: MetricKind;
  lines: [line: string, value: number][];
}

/** Readings by the metric's name. */
export type Readings = Record<string, MetricReading>;

interface Metric {
  kind: MetricKind;
  help: string;
  read(): MetricReading["lines"];
}

/** Metrics by name, in the order they were made. */
export class Registry {
  readonly #metrics = new Map<string, Metric>();

  counter(name: string, help: string): Counter {
    const counter = new Counter();
    this.#register(name, { kind: "counter", help, read: () => [[name, counter.value]] });
    return counter;
  }

  counters<Value extends string>(name: string, help: string, label: string, values?: readonly Value[]) {
    const counters = new Counters<Value>(label, values);
    const lineOf = (value: string) => `${name}{${label}="${escapeLabel(value)}"}`;
    const read = (): MetricReading["lines"] =>
      [...counters.byValue].map(([value, counter]) => [lineOf(value), counter.value]);
    this.#register(name, { kind: "counter", help, read });
    return counters;
  }

  gauge(name: string, help: string): Gauge {
    const gauge = new Gauge();
    this.#register(name, { kind: "gauge", help, read: () => [[name, gauge.value]] });
    return gauge;
  }

  /** What `read` returns whenever somebody looks; a counter's must never fall. */
  followed(kind: "counter" | "gauge", name: string, help: string, read: () => number): void {
    this.#register(name, { kind, help, read: () => [[name, read()]] });
  }

  /** A gauge that is always 1: what it tells is in its labels. */
  constant(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    const told = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`);
    const line = `${name}{${told.join(",")}}`;
    this.#register(name, { kind: "gauge", help, read: () => [[line, 1]] });
  }

  /** One gauge for each value of a label: what `read` returns whenever somebody looks. */
  gauges(
    name: string,
    help: string,
    label: string,
    read: () => Iterable<[value: string, now: number]>,
  ): void {
    const lines = (): MetricReading["lines"] =>
      Array.from(read(), ([value, now]) => [`${name}{${label}="${escapeLabel(value)}"}`, now]);
    this.#register(name, { kind: "gauge", help, read: lines });
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#register(name, { kind: "histogram", help, read: () => readHistogram(name, histogram) });
    return histogram;
  }

  /** What every metric shows now, for somebody else to add up. */
  read(): Readings {
    return Object.fromEntries(
      [...this.#metrics].map(([name, { kind, read }]) => [name, { kind, lines: read() }]),
    );
  }

  /** Prometheus's text format, version 0.0.4: what was read here, and `others` with it, line by line. */
  render(others: readonly Readings[] = []): string {
    const text: string[] = [];
    for (const [name, { kind, help, read }] of this.#metrics) {
      text.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
      const lines = addUp([read(), ...others.map((readings) => readings[name]?.lines ?? [])]);
      for (const [line, value] of lines) text.push(`${line} ${value}`);
    }
    return `${text.join("\n")}\n`;
  }

  #register(name: string, metric: Metric): void {
    if (this.#metrics.has(name)) throw new Error(`metric ${name} is there twice`);
    this.#metrics.set(name, metric);
  }
}

export type MetricLane = "live" | "historical" | "recordings";

export type Metrics = ReturnType<typeof openMetrics>;

/** Every metric of the program, at zero. Further ones may be made with `registry`. */
export function openMetrics() {
  const registry = new Registry();
  const lanes: readonly MetricLane[] = ["live", "historical", "recordings"];
  return {
    registry,
    eventsReceived: registry.counter("sluice_events_received_total", "Events found in accepted requests."),
    eventsAccepted: registry.counters<MetricLane>(
      "sluice_events_accepted_total",
      "Events taken into a lane.",
      "lane",
      lanes,
    ),
    eventsIgnored: registry.counters<string>(
      "sluice_events_ignored_total",
      "Events not taken, by reason; received = accepted + ignored.",
      "reason",
    ),
    eventsWarned: registry.counters<string>(
      "sluice_events_warned_total",
      "Events taken that were altered or lack what their kind needs, by warning.",
      "warning",
    ),
    requestsRefused: registry.counters<string>(
      "sluice_requests_refused_total",
      "Capture requests refused whole, by code.",
      "code",
    ),
    eventsStored: registry.counters<MetricLane>(
      "sluice_events_stored_total",
      "Events ClickHouse has confirmed.",
      "lane",
      lanes,
    ),
    journalPendingEvents: registry.gauge("sluice_journal_pending_events", "Events kept and not yet stored."),
    journalPendingBytes: registry.gauge("sluice_journal_pending_bytes", "Bytes of them on disk."),
    flushSeconds: registry.histogram(
      "sluice_flush_seconds",
      "Time from sealing a segment to ClickHouse's confirmation.",
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    ),
    captureSeconds: registry.histogram(
      "sluice_capture_seconds",
      "Time to answer a capture request.",
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    ),
    spikes: registry.counter("sluice_spikes_total", "Spikes of live events found."),
  };
}

function readHistogram(name: string, { bounds, counts, sum }: Histogram): MetricReading["lines"] {
  const lines: MetricReading["lines"] = [];
  let total = 0;
  bounds.forEach((bound, i) => {
    total += counts[i] ?? 0;
    lines.push([`${name}_bucket{le="${bound}"}`, total]);
  });
  total += counts[bounds.length] ?? 0;
  lines.push([`${name}_bucket{le="+Inf"}`, total], [`${name}_sum`, sum], [`${name}_count`, total]);
  return lines;
}

/** Lines of one metric from several sources, in the order they first appear. */
function addUp(sources: readonly MetricReading["lines"][]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const lines of sources) {
    for (const [line, value] of lines) sums.set(line, (sums.get(line) ?? 0) + value);
  }
  return sums;
}

/**
 * What stays of a process that ended: what it counted. With that of `before`, which ended earlier; a gauge showed what
 * was, and is not any more.
 */
export function countedBy(ended: Readings, before: Readings): Readings {
  const kept: Readings = { ...before };
  for (const [name, { kind, lines }] of Object.entries(ended)) {
    if (kind === "gauge") continue;
    kept[name] = { kind, lines: [...addUp([before[name]?.lines ?? [], lines])] };
  }
  return kept;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
