// What do persons cost? The same /batch without, with $set of five keys on every event, with a merge on every
// twentieth, and with all that posthog-js says of persons and groups; and how long it takes to read one person among
// a million.

import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { type SluiceRun, sluiceRun } from "./cost.ts";
import { bodyAround, eventBytes, eventTexts } from "./events.ts";
import { type Bodies, writePack } from "./material.ts";
import { oneByOne } from "./pace.ts";
import { emptyTables, personalKey, projectKey, type SluiceStand, withSluice } from "./stand.ts";

type Change = (event: string, i: number) => string;

/** A new person every so many events; one visitor returns about twenty times. */
const changes: Record<string, Change> = {
  "no persons' changes": (event) => event,
  "$set of five keys": (event, i) =>
    into(event, {
      $set: { email: `u${i % 5000}@example.com`, name: "Somebody", plan: "free", visits: i, country: "NL" },
    }),
  "a merge in every twentieth": (event, i) =>
    i % 20 === 0
      ? into(event, { $anon_distinct_id: `anonymous_${i}` }).replace(/"event":"[^"]*"/, `"event":"$identify"`)
      : event,
  "as posthog-js sends them": (event, i) =>
    into(event, {
      $process_person_profile: true,
      $set: { $current_url: "https://example.com/x", $browser: "Firefox", $os: "Linux", visits: i },
      $set_once: {
        $initial_current_url: "https://example.com/",
        $initial_referrer: "$direct",
        $initial_os: "Linux",
      },
      $groups: { company: `company ${i % 100}`, team: "sales" },
    }),
};

function into(event: string, properties: object): string {
  return event.replace(`"properties":{`, `"properties":{${JSON.stringify(properties).slice(1, -1)},`);
}

export async function personsBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const each = Math.min(scale.bytes / 2, 12_000_000);
    const contestants = Object.entries(changes).map(([name, change]) => {
      const bodies = changedBodies(folder, Math.max(1, Math.floor(scale.bytes / each)), each, change);
      return [name, () => runWhole(sluice, bodies)] as const;
    });
    const runs = await interleaved(scale, Object.fromEntries(contestants));
    const figures = Object.entries(runs).map(([name, all]) => ({
      name,
      "events/s": median(all.map((run) => run.events_per_s)),
      "CPU-µs/event": median(all.map((run) => run.cpu_us)),
      server: median(all.map((run) => run.server_us)),
      engine: median(all.map((run) => run.engine_us)),
    }));
    const reading = await readingOne(sluice, scale.bytes >= 100_000_000 ? 1_000_000 : 2000);
    const rate = (i: number) => figures[i]!["events/s"] / figures[0]!["events/s"];
    const cpu = (i: number) => figures[i]!["CPU-µs/event"] / figures[0]!["CPU-µs/event"];
    return {
      question: "persons",
      figures: [...figures, ...reading.map(({ name, p50_ms, p99_ms }) => ({ name, p50_ms, p99_ms }))],
      ratios: [
        { name: "throughput with $set ÷ without", value: rate(1), goal: 0.8, above: true },
        { name: "throughput with merges ÷ without", value: rate(2), goal: 0.5, above: true },
        { name: "CPU an event with $set ÷ without", value: cpu(1) },
        { name: "of it the server", value: figures[1]!.server / figures[0]!.server },
        ...reading.map(({ name, p99_ms }) => ({ name: `${name}, p99 in ms`, value: p99_ms, goal: 50 })),
      ],
    };
  });
}

function changedBodies(folder: string, count: number, bytes: number, change: Change): Bodies {
  const perBody = Math.max(20, Math.round(bytes / eventBytes));
  const made = Array.from({ length: count }, (_, body) => {
    const events = eventTexts({ count: perBody, first: body * perBody });
    return bodyAround(
      events.map((event, i) => change(event, body * perBody + i)),
      projectKey,
    );
  });
  return { ...writePack(folder, made), events: perBody * count, lines: [] };
}

/** Waits until the merges are applied as well. */
async function runWhole(
  sluice: SluiceStand,
  bodies: Bodies,
): Promise<{ events_per_s: number; cpu_us: number; server_us: number; engine_us: number }> {
  await sluice.stores.sql`TRUNCATE merged_ids`;
  const rested = async () => {
    while ((await sluice.metric("sluice_journal_pending_bytes")) > 0) await Bun.sleep(10);
  };
  const run: SluiceRun = await sluiceRun({ ...sluice, rested }, bodies);
  const perEvent = (cpu_s_per_gb: number) => (cpu_s_per_gb * bodies.bytes) / 1e3 / bodies.events;
  return {
    events_per_s: (run.mb_per_s * 1e6 * bodies.events) / bodies.bytes,
    cpu_us: perEvent(run.cpu_s_per_gb),
    server_us: perEvent(run.server_cpu_s_per_gb),
    engine_us: perEvent(run.engine_cpu_s_per_gb),
  };
}

/** Persons of five keys each, a hundredth of them with an id merged in; read over HTTP, one after the other. */
async function readingOne(sluice: SluiceStand, persons: number) {
  const { clickhouse } = sluice.stores;
  await emptyTables(sluice.stores);
  await clickhouse.command("SYSTEM START MERGES");
  const step = Math.min(persons, 100_000);
  for (let from = 0; from < persons; from += step) {
    await clickhouse.command(
      `INSERT INTO event_feed (uuid, project_id, distinct_id, timestamp, created_at, pk, pw, pv)
       SELECT generateUUIDv4(), 1, concat('id', toString(cityHash64(number))), now64(6) - number, now64(6),
         ['email', 'name', 'plan', 'visits', 'from'], [0, 0, 0, 0, 1],
         [concat('"u', toString(number), '@example.com"'), '"Somebody"', '"free"', toString(number), '"ad"']
       FROM numbers({from:UInt64}, {step:UInt64})`,
      { from, step },
      { timeoutMs: 120_000 },
    );
  }
  await clickhouse.command(
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
     SELECT 1, arrayJoin([main, concat('anonymous', toString(number))]),
       concat('id', toString(cityHash64(number * 100))) AS main, now64(6), now64(6), 1
     FROM numbers({merged:UInt64})`,
    { merged: persons / 100 },
  );
  const asked = Math.min(persons, 400);
  const [ids] = await clickhouse.query<{ ids: string[] }>(
    `SELECT groupArray(concat('id', toString(cityHash64(number)))) AS ids
     FROM numbers({asked:UInt64})`,
    { asked },
  );
  const merged = Array.from({ length: asked }, (_, i) => `anonymous${i % (persons / 100)}`);
  return [
    { name: "one person by distinct id", ...(await timed(sluice, ids!.ids)) },
    { name: "a merged person by distinct id", ...(await timed(sluice, merged)) },
  ];
}

async function timed({ url }: SluiceStand, ids: string[]): Promise<{ p50_ms: number; p99_ms: number }> {
  const { p50_ms, p99_ms } = await oneByOne(ids.length, async (i) => {
    const reply = await fetch(`${url}/api/projects/1/persons/?distinct_id=${ids[i]}`, {
      headers: { authorization: `Bearer ${personalKey}` },
    });
    const { count } = (await reply.json()) as { count: number };
    if (count !== 1) throw new Error(`${ids[i]} was not found`);
  });
  return { p50_ms, p99_ms };
}
