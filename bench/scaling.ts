// What to buy: machines for a rate of events, from measured figures. A calculation, not a measurement.
//
//   bun bench/scaling.ts [--rate EVENTS_PER_S]… [--NAME VALUE]…      --help lists the names and their defaults

import { parseArgs } from "node:util";
import { type Answer, linesOf } from "./answer.ts";

/** Each with its unit and where its default comes from; "assumed" is nobody's measurement. */
export const figures = {
  event_bytes: [552, "bytes of JSON of one event (bench/events.ts)"],
  request_events: [1, "events of one live request; SDKs on servers send many"],
  request_us: [22, "server, µs of CPU for a request (bench/README.md)"],
  server_cpu_s_gb: [3.9, "server, CPU-s for a GB of JSON (batch)"],
  compress_cpu_s_gb: [0.4, "server, CPU-s/GB: zstd of what it sends to ClickHouse"],
  engine_cpu_s_gb: [6.1, "ClickHouse, CPU-s for a GB of JSON, views and sessions included (batch)"],
  inflate_cpu_s_gb: [0.6, "ClickHouse, CPU-s/GB: inflating it"],
  insert_cpu_ms: [11, "ClickHouse, ms of CPU of an INSERT on each shard, however small"],
  flush_s: [1, "seconds between two INSERTs of a worker: FLUSH_INTERVAL_MS"],
  parts_s: [20, "new parts a second that a shard merges steadily (assumed)"],
  merge_cpu_s_gb: [3.1, "ClickHouse, CPU-s/GB of one pass of merges: half of an INSERT with its sessions"],
  merge_passes: [4, "how often a row is merged (assumed: parts grow eight- to tenfold each time)"],
  read_share: [0.3, "part of ClickHouse's cores kept for reads and exports (assumed)"],
  wire_bytes: [0.077, "bytes sent to ClickHouse for a byte of JSON; events of a kind compress well"],
  journal_bytes: [0.84, "bytes of the journal for a byte of JSON (batch)"],
  disk_bytes: [63, "bytes of an event at rest, once: 52, its session 11 (made ones; real ones take more)"],
  days: [365, "days that events are kept (assumed)"],
  replicas: [2, "copies of each shard, from the second machine on (assumed)"],
  outage_s: [3600, "seconds that ClickHouse may be away without refusing events (assumed)"],
  merge_share: [0.01, "part of the events that merge persons (assumed)"],
  merge_us: [
    300,
    "µs that a merge holds Postgres' one lock (1,000 in a segment; 166 to 570 on a busy machine)",
  ],
  busy: [0.5, "part of a core that is used at this rate: the rest is for peaks (assumed)"],
  server_cores: [8, "cores of a server's machine"],
  server_gb: [2, "GB of memory of a server beside the page cache (assumed: 4 workers, bodies under way)"],
  shard_cores: [32, "cores of a ClickHouse machine"],
  shard_core_gb: [4, "GB of memory for each of its cores (ClickHouse's own advice)"],
  shard_disk_tb: [24, "TB of disk of a ClickHouse machine"],
  disk_full: [0.7, "part of a disk that may be full: merges need room"],
  worker_rate: [30_000, "live requests/s of one capture worker, alone on its core (assumed from request_us)"],
} satisfies Record<string, readonly [number, string]>;

export type Figures = Record<keyof typeof figures, number>;

export const defaults = Object.fromEntries(
  Object.entries(figures).map(([name, [value]]) => [name, value]),
) as Figures;

export interface Plan {
  rate: number;
  /** Cores at work on average. */
  server_cores: number;
  engine_cores: number;
  servers: number;
  /** Capture workers of all servers, each with a journal of its own. */
  workers: number;
  shards: number;
  /** As many as it takes if disks were larger. */
  shards_by_cores: number;
  machines: number;
  journal_gb: number;
  disk_tb: number;
  wire_mb_s: number;
  memory_gb: number;
  merges_s: number;
  /** New parts of each shard in a second. */
  parts_s: number;
  /** What of its limit each thing takes, the fullest first. */
  loads: { name: string; share: number; shows: string }[];
}

/** What a rate needs, in events a second on average. */
export function planOf(rate: number, given: Partial<Figures> = {}): Plan {
  const f: Figures = { ...defaults, ...given };
  const gb_s = (rate * f.event_bytes) / 1e9;
  const isOne = fitsOneMachine(rate, f);
  const [zip, unzip] = isOne ? [0, 0] : [f.compress_cpu_s_gb, f.inflate_cpu_s_gb];
  const requests = rate / f.request_events;
  const server_cores = gb_s * (f.server_cpu_s_gb + zip) + (requests * f.request_us) / 1e6;
  const each = workersOf(isOne ? f.shard_cores : f.server_cores);
  const byCpu = Math.ceil(server_cores / (f.server_cores * f.busy));
  const byLoops = Math.ceil(requests / (each * f.worker_rate * f.busy));
  const servers = isOne ? 1 : Math.max(2, byCpu, byLoops);
  // A worker's INSERT has rows for every shard, so each shard gets a part of it.
  const parts_s = (servers * each) / f.flush_s;
  const inserting = (parts_s * f.insert_cpu_ms) / 1000;
  // Each replica merges for itself.
  const flowing = gb_s * (f.engine_cpu_s_gb + unzip + f.merge_cpu_s_gb * f.merge_passes);
  const usable = f.shard_cores * f.busy * (1 - f.read_share);
  const disk_tb = (rate * f.disk_bytes * f.days * 86_400) / 1e12;
  const byCores = Math.ceil(flowing / Math.max(1, usable - inserting));
  const byDisk = Math.ceil(disk_tb / (f.shard_disk_tb * f.disk_full));
  const shards = Math.max(1, byCores, byDisk);
  const copies = isOne ? 1 : f.replicas;
  const engine_cores = flowing + inserting * shards;
  const plan = {
    rate,
    server_cores,
    engine_cores: engine_cores * copies,
    servers,
    workers: servers * each,
    shards,
    shards_by_cores: Math.max(1, byCores),
    machines: isOne ? 1 : servers + shards * copies + 1,
    journal_gb: (gb_s * f.journal_bytes * f.outage_s) / servers,
    disk_tb: disk_tb * copies,
    wire_mb_s: isOne ? 0 : gb_s * 1000 * f.wire_bytes,
    memory_gb: (isOne ? 0 : servers * f.server_gb) + shards * copies * f.shard_cores * f.shard_core_gb,
    merges_s: rate * f.merge_share,
    parts_s,
  };
  return { ...plan, loads: loadsOf(plan, f, copies, isOne) };
}

/** As WORKERS is by default. */
function workersOf(cores: number): number {
  return Math.min(4, Math.max(1, Math.floor(cores / 4)));
}

/** Whether a machine like a shard's holds the server as well, in cores and on disk. */
function fitsOneMachine(rate: number, f: Figures): boolean {
  const gb_s = (rate * f.event_bytes) / 1e9;
  const all = f.server_cpu_s_gb + f.engine_cpu_s_gb + f.merge_cpu_s_gb * f.merge_passes;
  const cores = gb_s * all + ((rate / f.request_events) * f.request_us) / 1e6;
  const disk_tb = (rate * f.disk_bytes * f.days * 86_400) / 1e12;
  return cores <= f.shard_cores * f.busy * (1 - f.read_share) && disk_tb <= f.shard_disk_tb * f.disk_full;
}

function loadsOf(plan: Omit<Plan, "loads">, f: Figures, copies: number, isOne: boolean): Plan["loads"] {
  const engine = plan.engine_cores / copies / plan.shards + (isOne ? plan.server_cores : 0);
  const cores = isOne ? f.shard_cores : f.server_cores;
  const loads = [
    {
      name: "merges of persons, one lock in Postgres",
      share: (plan.merges_s * f.merge_us) / 1e6,
      shows: "captures go on; persons, sluice_journal_pending_events and exports fall behind",
    },
    {
      name: "cores of ClickHouse",
      share: engine / (f.shard_cores * (1 - f.read_share)),
      shows:
        "sluice_flush_seconds and sluice_journal_pending_bytes rise; then TOO_MANY_PARTS, journals fill, 503",
    },
    {
      name: "cores of servers",
      share: plan.server_cores / (plan.servers * cores),
      shows: "sluice_capture_seconds rises; nothing is lost",
    },
    {
      name: "event loops of workers",
      share: plan.rate / f.request_events / (plan.workers * f.worker_rate),
      shows: "sluice_capture_seconds rises while cores are free: more WORKERS or servers",
    },
    {
      name: "disks of ClickHouse",
      share: plan.disk_tb / copies / plan.shards / (f.shard_disk_tb * f.disk_full),
      shows: "NOT_ENOUGH_SPACE in the log, journals fill, 503: shorter retention, or shards",
    },
    {
      name: "new parts of a shard",
      share: plan.parts_s / f.parts_s,
      shows:
        "INSERTs are delayed, sluice_flush_seconds rises; then TOO_MANY_PARTS: a longer FLUSH_INTERVAL_MS, fewer WORKERS",
    },
  ];
  return loads.toSorted((one, other) => other.share - one.share);
}

export function answerOf(rates: readonly number[], given: Partial<Figures> = {}): Answer {
  const plans = rates.map((rate) => planOf(rate, given));
  const row = (name: string, of: (plan: Plan) => number | string) => ({
    name,
    ...Object.fromEntries(plans.map((plan) => [`${plan.rate.toLocaleString("en")}/s`, of(plan)])),
  });
  const rounded = (value: number) => (value >= 100 ? Math.round(value) : Math.round(value * 10) / 10);
  return {
    question: "Machines by events a second",
    figures: [
      row("machines in all, Postgres included", (plan) => plan.machines),
      row("servers", (plan) => plan.servers),
      row("ClickHouse shards", (plan) => plan.shards),
      row("ClickHouse shards, by cores alone", (plan) => plan.shards_by_cores),
      row("cores at work: servers", (plan) => rounded(plan.server_cores)),
      row("cores at work: ClickHouse, all copies", (plan) => rounded(plan.engine_cores)),
      row("memory, GB", (plan) => rounded(plan.memory_gb)),
      row("ClickHouse disk, TB, all copies", (plan) => rounded(plan.disk_tb)),
      row("journal of each server, GB", (plan) => rounded(plan.journal_gb)),
      row("servers to ClickHouse, MB/s", (plan) => rounded(plan.wire_mb_s)),
      row("merges of persons a second", (plan) => rounded(plan.merges_s)),
      row("new parts a second, each shard", (plan) => rounded(plan.parts_s)),
    ],
    ratios: plans.flatMap(({ rate, loads }) =>
      loads.slice(0, 2).map(({ name, share }) => ({
        name: `${rate.toLocaleString("en")}/s: ${name}, part of what it bears`,
        value: share,
        goal: 1,
      })),
    ),
  };
}

function main(): void {
  const options = Object.fromEntries(
    Object.keys(figures).map((name) => [name, { type: "string" }]),
  ) as Record<string, { type: "string" }>;
  const { values } = parseArgs({
    options: { ...options, rate: { type: "string", multiple: true }, help: { type: "boolean" } },
  });
  if (values.help) {
    const lines = Object.entries(figures).map(
      ([name, [value, text]]) => `  --${name} ${value}`.padEnd(30) + text,
    );
    return void process.stdout.write(`${lines.join("\n")}\n`);
  }
  const given = Object.fromEntries(
    Object.keys(figures).flatMap((name) => {
      const text = (values as Record<string, unknown>)[name];
      return typeof text === "string" ? [[name, numberOf(name, text)]] : [];
    }),
  ) as Partial<Figures>;
  const asked = values.rate?.map((text) => numberOf("rate", text)) ?? [
    10_000, 100_000, 1_000_000, 10_000_000,
  ];
  const shows = new Map(
    asked.flatMap((rate) => planOf(rate, given).loads).map((load) => [load.name, load.shows]),
  );
  const told = [...shows].map(([name, text]) => `  ${name}: ${text}\n`).join("");
  process.stdout.write(`${linesOf(answerOf(asked, given))}How it shows\n${told}`);
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new Error(`--${name} ${text} is no number`);
  return value;
}

if (import.meta.main) main();
