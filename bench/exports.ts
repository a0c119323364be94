// What does exporting a million events to Parquet on a loopback S3 cost beside the bare statement, and does a capture
// beside it notice? One run of a batch export, asked for over HTTP, and ClickHouse's own INSERT INTO FUNCTION s3() of the
// same columns. The S3 server keeps its files in memory: a real one has disks of its own.

import { existsSync, mkdtempSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { pace, type Paced } from "./pace.ts";
import { ownCpuSeconds } from "./process_tree.ts";
import { rest } from "./rest.ts";
import {
  makeFolder,
  personalKey,
  projectKey,
  removeFolder,
  type SluiceStand,
  usualFlush,
  withSluice,
} from "./stand.ts";

const start = "2024-07-01T00:00:00+00:00";
const end = "2024-07-01T01:00:00+00:00";
const bucket = "bench";
const persons = 50_000;

interface Cost {
  seconds: number;
  engine_cpu_s: number;
  server_cpu_s: number;
}

export async function exportsBench(scale: Scale): Promise<Answer> {
  const events = scale.bytes < 1_000_000 ? 20_000 : 1_000_000;
  const environment = { ...usualFlush.environment, ALLOW_PRIVATE_DESTINATIONS: "1" };
  const s3 = await startS3();
  try {
    return await withSluice(
      async (sluice) => {
        await fill(sluice, events);
        const export_id = await createExport(sluice, s3.url);
        const timed = (run: () => Promise<number>) => () => costOf(sluice, run);
        await rest(sluice);
        const runs = await interleaved<Cost>(scale, {
          "a run": timed(() => runOnce(sluice, export_id, events)),
          "bare, one thread": timed(() => bare(sluice, s3.url, { max_threads: 1 })),
          "bare, as many threads as it likes": timed(() => bare(sluice, s3.url, {})),
          "bare, one thread, no persons": timed(() => bare(sluice, s3.url, { max_threads: 1 }, false)),
        });
        const costs = Object.values(runs).map(medians);
        const names = Object.keys(runs);
        const all = costs.map((cost, i) => ({ name: names[i]!, ...cost }));
        const [run, one, many, alone] = costs as [Cost, Cost, Cost, Cost];
        const seconds = scale.bytes < 1_000_000 ? 1 : 20;
        const rested = await rest(sluice);
        const idle = await pace(100, seconds, () => captureOne(sluice.url));
        const beside = await besideRuns(sluice, export_id, events, seconds);
        const captures = [
          { name: "capture, nothing beside", seconds: rested, ...shown(idle) },
          { name: "capture beside runs", ...shown(beside) },
        ];
        return {
          question: `exporting ${events.toLocaleString("en")} events to Parquet on a loopback S3`,
          figures: [...all, ...captures],
          ratios: [
            { name: "CPU of a run ÷ bare", value: cpu(run) / cpu(many), goal: 1.15 },
            { name: "CPU of a run ÷ bare on one thread", value: cpu(run) / cpu(one), goal: 1.15 },
            { name: "CPU of a run ÷ bare without persons", value: cpu(run) / cpu(alone) },
            { name: "seconds of a run ÷ bare on one thread", value: run.seconds / one.seconds, goal: 1.15 },
            {
              name: "p99 of capture beside runs, ms",
              value: beside.p99_ms,
              goal: Math.max(10, 2 * idle.p99_ms),
            },
          ],
        };
      },
      { environment, merges: true },
    );
  } finally {
    await s3.stop();
  }
}

function cpu({ engine_cpu_s, server_cpu_s }: Cost): number {
  return engine_cpu_s + server_cpu_s;
}

function shown({ p50_ms, p99_ms, max_ms, failed }: Paced): Record<string, number> {
  return { "p50 ms": p50_ms, "p99 ms": p99_ms, "max ms": max_ms, failed };
}

function medians(all: Cost[]): Cost {
  const of = (name: keyof Cost) => median(all.map((one) => one[name]));
  return { seconds: of("seconds"), engine_cpu_s: of("engine_cpu_s"), server_cpu_s: of("server_cpu_s") };
}

/** The cost of work that reports its own duration. */
async function costOf({ pid, enginePid }: SluiceStand, run: () => Promise<number>): Promise<Cost> {
  const [engine, server] = [ownCpuSeconds([enginePid]), ownCpuSeconds([pid])];
  const seconds = await run();
  return {
    seconds,
    engine_cpu_s: ownCpuSeconds([enginePid]) - engine,
    server_cpu_s: ownCpuSeconds([pid]) - server,
  };
}

async function startS3(): Promise<{ url: string; stop(): Promise<void> }> {
  const memory = "/dev/shm";
  const directory = existsSync(memory) ? mkdtempSync(join(memory, "sluice-bench-")) : makeFolder();
  const command = [process.execPath, resolve(import.meta.dir, "s3_sink.ts"), directory, bucket];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  const stop = async () => {
    child.stdin.end();
    await child.exited;
    removeFolder(directory);
  };
  return { url: `http://127.0.0.1:${Number(new TextDecoder().decode(value))}`, stop };
}

/** About 400 bytes of properties each, over thirty days, all arrived within one hour; each person has set five keys. */
async function fill({ stores: { clickhouse } }: SluiceStand, events: number): Promise<void> {
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv,
       _batch, _row)
     SELECT reinterpretAsUUID(sipHash128(number, 3)), 1, '$set', concat('user_', toString(number)), '{}',
       toDateTime64('2024-05-31 00:00:00', 6, 'UTC'), toDateTime64('2024-05-31 00:00:00', 6, 'UTC'),
       ['email', 'name', 'plan', 'country', 'visits'], [0, 0, 0, 0, 0],
       [concat('"user_', toString(number), '@example.com"'), concat('"User number ', toString(number), '"'), '"paid"',
         '"NL"', toString(number % 977)], 1, number
     FROM numbers({persons:UInt64})`,
    { persons },
    { timeoutMs: 600_000 },
  );
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT reinterpretAsUUID(sipHash128(number)), 1,
       ['$pageview', '$autocapture', 'signed up', 'bought'][number % 4 + 1],
       concat('user_', toString(cityHash64(number) % {persons:UInt64})),
       concat('{"$current_url":"https://example.com/products/', toString(number % 977), '?ref=', toString(number),
         '","$browser":"Firefox","$os":"Linux","$lib":"web","$session_id":"0189-', toString(number % 300000),
         '","$user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",',
         '"$screen":[1920,1080],"price":', toString(number % 100), '.5,"currency":"EUR",',
         '"title":"A product with a longer title, number ', toString(number % 977),
         '","experiment":{"name":"checkout","variant":"', ['control', 'test'][number % 2 + 1], '"}}'),
       toDateTime64('2024-06-01 00:00:00', 6, 'UTC')
         + toIntervalMicrosecond(toInt64(cityHash64(number, 2) % (30 * 86400000000))),
       toDateTime64('2024-07-01 00:00:00', 6, 'UTC') + toIntervalMillisecond(number % 3600000), 1, number
     FROM numbers({events:UInt64})`,
    { events, persons },
    { timeoutMs: 600_000 },
  );
}

async function ask(
  { url }: SluiceStand,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const reply = await fetch(`${url}/api/projects/1/batch_exports/${path}`, {
    method,
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path} was answered ${reply.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function createExport(sluice: SluiceStand, endpoint_url: string): Promise<string> {
  const config = {
    bucket_name: bucket,
    region: "us-east-1",
    prefix: "run",
    endpoint_url,
    aws_access_key_id: "S3RVER",
    aws_secret_access_key: "S3RVER",
    file_format: "Parquet",
    compression: "zstd",
  };
  const input = { name: "bench", interval: "hour", paused: true, destination: { type: "S3", config } };
  return String((await ask(sluice, "POST", "", input))["id"]);
}

/** @returns how long its run took, from its claim to its end, in seconds. */
async function runOnce(sluice: SluiceStand, export_id: string, events: number): Promise<number> {
  const before = await sluice.metric("sluice_export_seconds_sum");
  await ask(sluice, "POST", `${export_id}/backfills/`, { start_at: start, end_at: end });
  for (;;) {
    // Polling more often would be most of the server's work.
    await Bun.sleep(250);
    const { results } = (await ask(sluice, "GET", `${export_id}/backfills/`)) as {
      results: { status: string }[];
    };
    if (results[0]?.status === "Completed") break;
  }
  const { latest_runs } = (await ask(sluice, "GET", `${export_id}/`)) as {
    latest_runs: { records_completed: number; latest_error: string }[];
  };
  const [run] = latest_runs;
  if (run?.records_completed !== events) throw new Error(`the run failed: ${JSON.stringify(run)}`);
  return (await sluice.metric("sluice_export_seconds_sum")) - before;
}

/** The statement a person would write. */
async function bare(
  { stores: { clickhouse } }: SluiceStand,
  url: string,
  settings: Record<string, string | number>,
  withPersons = true,
): Promise<number> {
  const began = performance.now();
  const known =
    "LEFT ANY JOIN (SELECT person_id, properties FROM persons WHERE project_id = 1) AS p ON e.person_id = p.person_id";
  await clickhouse.command(
    `INSERT INTO FUNCTION s3({url:String}, 'S3RVER', 'S3RVER', 'Parquet')
     SELECT toString(e.uuid) AS uuid, toString(e.event) AS event, e.distinct_id AS distinct_id,
       toString(e.person_id) AS person_id, e.properties AS properties,
       ${withPersons ? "p.properties" : "'{}'"} AS person_properties,
       JSONExtractString(e.properties, '$elements_chain') AS elements_chain, e.timestamp AS timestamp,
       e.created_at AS created_at, e.created_at AS _inserted_at
     FROM events AS e ${withPersons ? known : ""}
     WHERE e.project_id = 1 AND e.created_at >= toDateTime64('2024-07-01 00:00:00', 6, 'UTC')
       AND e.created_at < toDateTime64('2024-07-01 01:00:00', 6, 'UTC')`,
    { url: `${url}/${bucket}/bare.parquet` },
    { timeoutMs: 600_000, settings: { s3_truncate_on_insert: 1, ...settings } },
  );
  return (performance.now() - began) / 1000;
}

function captureOne(url: string): Promise<Response> {
  return fetch(`${url}/capture/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ api_key: projectKey, event: "live", distinct_id: "somebody" }),
  });
}

/** One run after the other for as long as captures are measured. */
async function besideRuns(
  sluice: SluiceStand,
  export_id: string,
  events: number,
  seconds: number,
): Promise<Paced> {
  let over = false;
  const running = (async () => {
    while (!over) await runOnce(sluice, export_id, events);
  })();
  const paced = await pace(100, seconds, () => captureOne(sluice.url));
  over = true;
  await running;
  return paced;
}
