// How long do queries take over ten million events of thirty days? Rows are made inside the engine and merged into one
// part; queries are asked over HTTP, as scripts ask them.

import { type Answer, median, type Scale } from "./answer.ts";
import { ownCpuSeconds } from "./process_tree.ts";
import { personalKey, type SluiceStand, withSluice } from "./stand.ts";

const days = 30;

const dateRange = { date_from: "2024-06-01", date_to: "2024-06-30" };
const trend = { kind: "TrendsQuery", series: [{}], interval: "day", dateRange };
const viewed = { event: "$pageview" };

/** The first is the one with a goal. */
const asked: Record<string, Record<string, unknown>> = {
  "total by day": trend,
  "total by day, one event": { ...trend, series: [viewed] },
  "total by hour": { ...trend, interval: "hour" },
  "users by day, one event": { ...trend, series: [{ ...viewed, math: "dau" }] },
  "users by day": { ...trend, series: [{ math: "dau" }] },
  "total by day, filtered": { ...trend, properties: [{ key: "$browser", value: "Firefox" }] },
  "sum of a property, one event": {
    ...trend,
    series: [{ event: "bought", math: "sum", math_property: "price" }],
  },
  "total by browser, one event": {
    ...trend,
    series: [viewed],
    breakdownFilter: { breakdown: "$browser" },
  },
  "funnel of two steps, a week": {
    kind: "FunnelsQuery",
    series: [{ event: "signed up" }, { event: "bought" }],
    dateRange: { date_from: "2024-06-01", date_to: "2024-06-07" },
  },
  "retention by week": {
    kind: "RetentionQuery",
    dateRange: { date_to: "2024-06-30" },
    retentionFilter: {
      period: "Week",
      totalIntervals: 4,
      targetEntity: { id: "signed up" },
      returningEntity: { id: "bought" },
    },
  },
  "100 events of a day": { kind: "EventsQuery", select: ["*"], after: "2024-06-15", before: "2024-06-16" },
};

export async function trendsBench(scale: Scale): Promise<Answer> {
  const events = scale.bytes < 1_000_000 ? 20_000 : 10_000_000;
  return await withSluice(async (sluice) => {
    await fill(sluice, events);
    const figures: Answer["figures"] = [];
    for (const [name, query] of Object.entries(asked)) figures.push(await timed(sluice, name, query, scale));
    const seconds = Number(figures[0]?.["ms"]) / 1000;
    return {
      question: `queries over ${events.toLocaleString("en")} events of ${days} days`,
      figures,
      ratios: [{ name: "seconds of total by day", value: seconds, goal: 1 }],
    };
  });
}

/** Inserts a tenth of the events at a time; each year is one part in the end. */
async function fill({ stores: { clickhouse } }: SluiceStand, events: number): Promise<void> {
  const each = events / 10;
  const patience = { timeoutMs: 600_000 };
  for (let from = 0; from < events; from += each) {
    await clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
       SELECT reinterpretAsUUID(sipHash128(number)), 1,
         ['$pageview', '$autocapture', 'signed up', 'bought'][number % 4 + 1],
         concat('user_', toString(cityHash64(number) % ${Math.ceil(events / 20)})),
         concat('{"$current_url":"https://example.com/products/', toString(number % 977), '?ref=', toString(number),
           '","$browser":"', ['Firefox', 'Chrome', 'Safari'][number % 3 + 1], '","$os":"Linux","$lib":"web",',
           '"$session_id":"0189-', toString(number % 300000), '","$screen":[1920,1080],"price":',
           toString(number % 100), '.5,"currency":"EUR"}'),
         toDateTime64('2024-06-01 00:00:00', 6, 'UTC')
           + toIntervalMicrosecond(toInt64(cityHash64(number, 2) % (${days} * 86400000000))),
         toDateTime64('2024-07-01 00:00:00', 6, 'UTC'), 1, number
       FROM numbers(${from}, ${each})`,
      undefined,
      patience,
    );
  }
  await clickhouse.command("SYSTEM START MERGES");
  await clickhouse.command("OPTIMIZE TABLE event_rows FINAL", undefined, patience);
}

async function timed(
  { url, enginePid }: SluiceStand,
  name: string,
  query: Record<string, unknown>,
  { rounds, warm }: Scale,
): Promise<Answer["figures"][number]> {
  const ms: number[] = [];
  const cpuMs: number[] = [];
  let refused = 0;
  for (let round = warm ? -1 : 0; round < rounds; round++) {
    const cpu = ownCpuSeconds([enginePid]);
    const start = performance.now();
    const reply = await fetch(`${url}/api/projects/1/query/`, {
      method: "POST",
      headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    const text = await reply.text();
    // On a machine that is busy with other things the heaviest ones run out of time.
    if (reply.status === 400) refused++;
    else if (!reply.ok) throw new Error(`${name} failed: ${text}`);
    if (round < 0) continue;
    ms.push(performance.now() - start);
    cpuMs.push((ownCpuSeconds([enginePid]) - cpu) * 1000);
  }
  return { name, ms: median(ms), "max ms": Math.max(...ms), "engine CPU ms": median(cpuMs), refused };
}
