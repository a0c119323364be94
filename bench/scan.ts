// How much CPU does it take to turn a body into sealed columns? Beside it, what JSON.parse alone takes on the same bytes.

import { Block } from "../src/capture/block.ts";
import { readEvent } from "../src/capture/event.ts";
import { entryLength } from "../src/capture/member.ts";
import { emptyRow } from "../src/capture/row.ts";
import { Scan } from "../src/capture/scan.ts";
import { ByteColumn } from "../src/storage/native.ts";
import { batchBody } from "./events.ts";

const body = batchBody(32_000, 1);
const row = emptyRow();
const block = new Block();
const out = new ByteColumn(1 << 20);
const sending = { project_id: 1, historical_migration: true, received: Date.UTC(2026, 0) * 1000, skew: 0 };

function sealed(): number {
  const scan = new Scan(body);
  scan.advance(body.length);
  for (let at = 0; at < scan.count * entryLength; at += entryLength) {
    if (readEvent(scan, at, sending, row) === undefined) block.append(row);
  }
  out.length = 0;
  block.encode(out, 1n, 0);
  block.clear();
  return scan.count;
}

function parsed(): number {
  return (JSON.parse(new TextDecoder().decode(body)) as { batch: unknown[] }).batch.length;
}

/** CPU-seconds per GB of body, one run. */
function cpuPerGb(run: () => number): number {
  const before = process.cpuUsage();
  if (run() !== 32_000) throw new Error("not every event was found");
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / (body.length / 1e9);
}

/** Medians of interleaved rounds, after a warm-up. */
export function scanBench(rounds = 15) {
  for (let i = 0; i < 5; i++) {
    sealed();
    parsed();
  }
  const figures = Array.from({ length: rounds }, () => [cpuPerGb(sealed), cpuPerGb(parsed)] as const);
  const median = (place: 0 | 1) => figures.map((pair) => pair[place]).toSorted((a, b) => a - b)[rounds >> 1]!;
  return { question: "body → sealed columns", cpu_s_per_gb: median(0), json_parse_cpu_s_per_gb: median(1) };
}
