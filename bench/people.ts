// Is everybody answered? Four people ask four questions about 500,000 events at once, two rounds, beside captures, then
// beside two busy loops, too, and then beside a hostile question of their project and of another one.

import type { Answer, Scale } from "./answer.ts";
import { pace } from "./pace.ts";
import { personalKey, projectKey, type SluiceStand, usualFlush, withSluice } from "./stand.ts";
import { fillYear, year } from "./year_events.ts";

const dateRange = { date_from: `${year}-01-01`, date_to: `${year}-12-31` };
const ofViews = { event: "$pageview" };
const questions = {
  overview: { kind: "WebOverviewQuery", dateRange, properties: [] },
  funnel: { kind: "FunnelsQuery", series: [ofViews, { event: "signed up" }, { event: "bought" }], dateRange },
  uniques: {
    kind: "TrendsQuery",
    interval: "month",
    series: [{ ...ofViews, math: "dau" }],
    breakdownFilter: { breakdown: "$timezone" },
    dateRange,
  },
  breakdown: {
    kind: "TrendsQuery",
    interval: "month",
    series: [{}],
    breakdownFilter: { breakdown: "$browser" },
    dateRange,
  },
};
const pages = ["persons/?limit=100", "persons/?email=nobody@example.com", "session_recordings/"];
const people = 4;
const capturesPerSecond = 100;
const endless = "select count() from events as a cross join events as b where a.distinct_id < b.distinct_id";

export async function peopleBench(scale: Scale): Promise<Answer> {
  const isTiny = scale.bytes < 1_000_000;
  const events = scale.events ?? (isTiny ? 20_000 : 500_000);
  return await withSluice(
    async (sluice) => {
      await fillYear(sluice.stores, events);
      const keys = await Promise.all(
        Array.from({ length: people }, (_, i) => makeKey(sluice.url, `person ${i}`)),
      );
      const idle = await pace(capturesPerSecond, isTiny ? 0.3 : 10, () => captureOne(sluice.url));
      const alone = await askAll(sluice, keys);
      const loops = [0, 1].map(() => Bun.spawn(["sh", "-c", "while :; do :; done"]));
      const loaded = await askAll(sluice, keys).finally(() => {
        for (const loop of loops) loop.kill();
      });
      const hostile = isTiny ? [] : [await besideHostile(sluice, keys)];
      const worst = Math.max(alone.seconds, loaded.seconds);
      const refused = alone.refused + loaded.refused;
      return {
        question: `${people} people ask ${Object.keys(questions).length} questions about ${events.toLocaleString("en")} events at once`,
        figures: [
          { name: "captures, nobody asks", "capture p99 ms": idle.p99_ms },
          { name: "beside captures", ...alone },
          { name: "beside captures and two busy loops", ...loaded },
          ...hostile,
        ],
        ratios: [
          { name: "seconds of the slowest answer", value: worst, goal: 60 },
          { name: "answers that are not 200", value: refused, goal: 0 },
        ],
      };
    },
    { ...usualFlush, merges: true, dataDir: scale.folder },
  );
}

/** Two rounds beside captures. Of each request the seconds and whether it was refused, in a figure. */
async function askAll({ url }: SluiceStand, keys: readonly string[]) {
  const took: number[] = [];
  const statuses = new Map<number, number>();
  const send = async (key: string, path: string, query?: object): Promise<void> => {
    const began = performance.now();
    const { status, text } = await askOnce(url, key, path, query);
    took.push((performance.now() - began) / 1000);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status !== 200)
      process.stderr.write(`${path} ${JSON.stringify(query)}: ${status} ${text.slice(0, 200)}\n`);
  };
  let isOver = false;
  const capturing = pace(
    capturesPerSecond,
    3600,
    () => captureOne(url),
    () => isOver,
  );
  for (let round = 0; round < 2; round++) {
    await Promise.all([
      ...keys.flatMap((key) => Object.values(questions).map((query) => send(key, "query/", query))),
      ...pages.map((path) => send(keys[0]!, path)),
    ]);
  }
  isOver = true;
  const captures = await capturing;
  const answered = statuses.get(200) ?? 0;
  return {
    seconds: Math.max(...took),
    "mean s": took.reduce((sum, one) => sum + one, 0) / took.length,
    refused: took.length - answered,
    "capture p99 ms": captures.p99_ms,
    "captures failed": captures.failed,
  };
}

/** How long a question without an end takes to be ended, and meanwhile an overview of its project and of another. */
async function besideHostile({ url }: SluiceStand, keys: readonly string[]) {
  const other = await makeProject(url);
  const seconds = async (key: string, query: object, project?: number) => {
    const began = performance.now();
    const { status, text } = await askOnce(url, key, "query/", query, project);
    if (status !== 200) process.stderr.write(`${status} ${text.slice(0, 200)}\n`);
    return { status, seconds: (performance.now() - began) / 1000 };
  };
  const sql = { kind: "HogQLQuery", query: endless };
  const ending = Promise.all(keys.map((key) => seconds(key, sql)));
  await Bun.sleep(2000);
  const [own, others] = await Promise.all([
    seconds(keys[0]!, questions.overview),
    seconds(keys[0]!, questions.overview, other),
  ]);
  const ended = await ending;
  return {
    name: `beside ${keys.length} questions without an end`,
    "ended with": ended.map(({ status }) => status).join(" "),
    "ended after s": ended.map((one) => Math.round(one.seconds)).join(" "),
    "own overview s": own.seconds,
    "own overview": own.status,
    "another project's s": others.seconds,
    "another project's": others.status,
  };
}

async function askOnce(url: string, key: string, path: string, query?: object, project = 1) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ query, refresh: "force_blocking" });
  const request: RequestInit = query ? { method: "POST", headers, body } : { headers };
  const reply = await fetch(`${url}/api/projects/${project}/${path}`, {
    ...request,
    timeout: false,
  } as RequestInit);
  return { status: reply.status, text: await reply.text() };
}

async function create(url: string, path: string, body: object): Promise<{ value: string; id: number }> {
  const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
  const reply = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as { value: string; id: number };
}

async function makeKey(url: string, label: string): Promise<string> {
  return (await create(url, "/api/personal_api_keys/", { label, scopes: ["*"] })).value;
}

async function makeProject(url: string): Promise<number> {
  return (await create(url, "/api/projects/", { name: "another" })).id;
}

function captureOne(url: string): Promise<Response> {
  return fetch(`${url}/capture/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`,
  });
}
