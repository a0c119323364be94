// How long do queries take over twenty million events of a year, at rest, when nothing of their results is kept? And do
// captures notice twenty of the heaviest at once? A folder that is given is filled once and kept.

import { type Answer, median, type Scale } from "./answer.ts";
import { pace, type Paced } from "./pace.ts";
import { ownCpuSeconds } from "./process_tree.ts";
import { rest } from "./rest.ts";
import { personalKey, projectKey, type SluiceStand, usualFlush, withSluice } from "./stand.ts";
import { fillYear, year } from "./year_events.ts";

const days30 = { date_from: `${year}-06-01`, date_to: `${year}-06-30` };
const wholeYear = { date_from: `${year}-01-01`, date_to: `${year}-12-31` };
const within30 = `timestamp >= '${year}-06-01' and timestamp < '${year}-07-01'`;
const withinYear = `timestamp >= '${year}-01-01' and timestamp < '${year + 1}-01-01'`;

type Query = Record<string, unknown>;

const trend = { kind: "TrendsQuery", series: [{}], interval: "day" };
const steps = {
  kind: "FunnelsQuery",
  series: [{ event: "$pageview" }, { event: "signed up" }, { event: "bought" }],
};
const uniques = {
  ...trend,
  interval: "month",
  series: [{ event: "$pageview", math: "dau" }],
  breakdownFilter: { breakdown: "$browser" },
};
const retention = {
  kind: "RetentionQuery",
  dateRange: { date_to: `${year}-06-30` },
  retentionFilter: {
    period: "Day",
    totalIntervals: 30,
    targetEntity: { id: "$pageview" },
    returningEntity: { id: "$pageview" },
  },
};
const ofSite = { dateRange: days30, properties: [] };
const sql = (query: string): Query => ({ kind: "HogQLQuery", query });
const byBrowser = (within: string): Query =>
  sql(
    `select properties.$browser as browser, count() from events where ${within} group by browser order by 2 desc`,
  );
const bySource = (within: string): Query =>
  sql(
    `select person.properties.$initial_utm_source as source, count(), uniq(person_id) from events where ${within} ` +
      "group by source order by 2 desc",
  );

const funnelOfYear = { ...steps, dateRange: wholeYear };
const behindTheLast = { kind: "FunnelsActorsQuery", source: funnelOfYear, funnelStep: 3 };

/** What is asked, and within how many seconds it is to be answered. */
const asked: Record<string, { query: Query; goal?: number }> = {
  "a trend, 30 days": { query: { ...trend, dateRange: days30 }, goal: 1 },
  "a count in SQL, 30 days": { query: sql(`select count() from events where ${within30}`), goal: 1 },
  "a trend of one browser, 30 days": {
    query: {
      ...trend,
      dateRange: days30,
      properties: [{ key: "$browser", value: ["Firefox"], type: "event" }],
    },
    goal: 1,
  },
  "the overview, 30 days": { query: { kind: "WebOverviewQuery", ...ofSite }, goal: 1 },
  "the overview's pages, 30 days": {
    query: { kind: "WebStatsTableQuery", breakdownBy: "Page", ...ofSite },
    goal: 1,
  },
  "the overview's sources, 30 days": {
    query: { kind: "WebStatsTableQuery", breakdownBy: "InitialReferringDomain", ...ofSite },
    goal: 1,
  },
  "a trend, a year": { query: { ...trend, interval: "week", dateRange: wholeYear }, goal: 2 },
  "a count in SQL by event, a year": {
    query: sql(`select event, count() from events where ${withinYear} group by event order by 2 desc`),
    goal: 2,
  },
  "a funnel of three steps, 30 days": { query: { ...steps, dateRange: days30 }, goal: 3 },
  "retention by day, 30 days": { query: retention, goal: 3 },
  "a funnel of three steps, a year": { query: funnelOfYear, goal: 15 },
  "uniques by browser, a year": { query: { ...uniques, dateRange: wholeYear }, goal: 15 },
  "a property in SQL, 30 days": { query: byBrowser(within30) },
  "a property in SQL, a year": { query: byBrowser(withinYear) },
  "a person's property in SQL, 30 days": { query: bySource(within30) },
  "a person's property in SQL, a year": { query: bySource(withinYear) },
  "a funnel without order, a year": {
    query: { ...funnelOfYear, funnelsFilter: { funnelOrderType: "unordered" } },
  },
  "persons behind a funnel, a year": {
    query: { kind: "ActorsQuery", source: behindTheLast, select: ["person"], limit: 100 },
  },
  "paths, a year": { query: { kind: "PathsQuery", dateRange: wholeYear } },
  "a lifecycle, a year": {
    query: {
      kind: "LifecycleQuery",
      series: [{ event: "$pageview" }],
      interval: "week",
      dateRange: wholeYear,
    },
  },
  "a site's pages, a year": {
    query: { kind: "WebStatsTableQuery", breakdownBy: "Page", dateRange: wholeYear, properties: [] },
  },
};

const heavy = [
  "a funnel of three steps, a year",
  "uniques by browser, a year",
  "a person's property in SQL, a year",
  "a funnel without order, a year",
  "persons behind a funnel, a year",
  "paths, a year",
  "a lifecycle, a year",
  "a site's pages, a year",
];
const heavyAtOnce = 20;
const capturesPerSecond = 100;

export async function yearBench(scale: Scale): Promise<Answer> {
  const isTiny = scale.bytes < 1_000_000;
  const events = scale.events ?? (isTiny ? 20_000 : 20_000_000);
  return await withSluice(
    async (sluice) => {
      const began = performance.now();
      const [{ stored } = { stored: 0 }] = await sluice.stores.clickhouse.query<{ stored: number }>(
        "SELECT toFloat64(count()) AS stored FROM event_rows",
      );
      if (stored === 0) await fillYear(sluice.stores, events);
      const filled = (performance.now() - began) / 1000;
      if (!isTiny) await rest(sluice, 1800);
      const figures: Answer["figures"] = [];
      const ratios: Answer["ratios"] = [];
      for (const [name, { query, goal }] of Object.entries(asked)) {
        const row = await timed(sluice, name, query, scale);
        figures.push(row);
        if (!isTiny) process.stderr.write(`${JSON.stringify(row)}\n`);
        if (goal !== undefined)
          ratios.push({ name: `seconds of ${name}`, value: Number(row["ms"]) / 1000, goal });
      }
      const person = await onePerson(sluice, scale);
      figures.push(person);
      ratios.push({ name: "seconds of a person", value: Number(person["ms"]) / 1000, goal: 0.1 });
      const captures = await besideHeavy(sluice, isTiny ? 0.3 : 20);
      return {
        question: `queries over ${events.toLocaleString("en")} events of a year, made in ${Math.round(filled)} s`,
        figures: [...figures, ...captures.figures],
        ratios: [...ratios, captures.ratio],
      };
    },
    { ...usualFlush, merges: true, dataDir: scale.folder },
  );
}

/** Asked once before it counts. A refusal counts, and what is measured is how long it took. */
async function timed(
  { url, enginePid }: SluiceStand,
  name: string,
  query: Query,
  { rounds }: Scale,
): Promise<Answer["figures"][number]> {
  const ms: number[] = [];
  const cpuMs: number[] = [];
  let refused = 0;
  for (let round = -1; round < rounds; round++) {
    const cpu = ownCpuSeconds([enginePid]);
    const start = performance.now();
    const reply = await ask(url, query);
    const text = await reply.text();
    if (!reply.ok) refused++;
    if (!reply.ok && reply.status !== 400 && reply.status !== 503) throw new Error(`${name} failed: ${text}`);
    if (round < 0) continue;
    ms.push(performance.now() - start);
    cpuMs.push((ownCpuSeconds([enginePid]) - cpu) * 1000);
  }
  return { name, ms: median(ms), "max ms": Math.max(...ms), "engine CPU ms": median(cpuMs), refused };
}

function ask(url: string, query: Query, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/api/projects/1/query/`, {
    method: "POST",
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query, refresh: "force_blocking" }),
    ...(signal && { signal }),
  });
}

/** Twenty persons, one after the other, as the console's page of a person asks for each. */
async function onePerson(sluice: SluiceStand, { rounds }: Scale): Promise<Answer["figures"][number]> {
  const headers = { authorization: `Bearer ${personalKey}` };
  const list = await fetch(`${sluice.url}/api/projects/1/persons/?limit=100`, { headers });
  const { results } = (await list.json()) as { results: { uuid: string }[] };
  const ms: number[] = [];
  for (let round = -1; round < rounds; round++) {
    for (const { uuid } of results.slice(0, 20)) {
      const start = performance.now();
      const reply = await fetch(`${sluice.url}/api/projects/1/persons/${uuid}/`, { headers });
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`a person: ${reply.status}`);
      if (round >= 0) ms.push(performance.now() - start);
    }
  }
  return { name: "a person", ms: median(ms), "max ms": Math.max(...ms) };
}

/** Captures while nobody asks, before and after, and while twenty askers ask for the heaviest, again and again. */
async function besideHeavy({ url }: SluiceStand, seconds: number) {
  const capture = () =>
    pace(capturesPerSecond, seconds, () =>
      fetch(`${url}/capture/`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`,
      }),
    );
  const before = await capture();
  const left = new AbortController();
  const askers = Array.from({ length: heavyAtOnce }, async (_, i) => {
    let answered = 0;
    for (let n = i; !left.signal.aborted; n++) {
      const reply = await ask(url, asked[heavy[n % heavy.length]!]!.query, left.signal).catch(
        () => undefined,
      );
      await reply?.arrayBuffer().catch(() => undefined);
      if (reply?.ok) answered++;
      // Refused, by a machine that is busy.
      else await Bun.sleep(200);
    }
    return answered;
  });
  await Bun.sleep(seconds * 100);
  const beside = await capture();
  left.abort();
  const answered = (await Promise.all(askers)).reduce((sum, one) => sum + one, 0);
  await Bun.sleep(seconds * 100);
  const after = await capture();
  const shown = (name: string, { p50_ms, p99_ms, max_ms, failed }: Paced) => ({
    name,
    "p50 ms": p50_ms,
    "p99 ms": p99_ms,
    "max ms": max_ms,
    failed,
  });
  return {
    figures: [
      shown("captures, nobody asks", before),
      { ...shown(`captures beside ${heavyAtOnce} heavy queries`, beside), answered },
      shown("captures, nobody asks any more", after),
    ],
    ratio: {
      name: "captures' p99 beside heavy queries ÷ idle, the better of both",
      value: beside.p99_ms / Math.min(before.p99_ms, after.p99_ms),
      goal: 2,
    },
  };
}
