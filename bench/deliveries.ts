// How long do 1,000 subscriptions that fall due at once take, on fifty insights, and do they slow capture
// down? A real server on embedded stores, a mail server in a process of its own.

import { join, resolve } from "node:path";
import type { Answer, Scale } from "./answer.ts";
import { batchBody } from "./events.ts";
import { pace, type Paced } from "./pace.ts";
import { besideNothing, stallOf, stallWatch, turnsOf } from "./stall.ts";
import {
  makeFolder,
  personalKey,
  projectKey,
  removeFolder,
  type SluiceStand,
  usualFlush,
  withSluice,
} from "./stand.ts";

const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
const fillEach = 32_000;
const perSecond = 100;
const insightsCount = 50;
const longestSeconds = 180;

export async function deliveriesBench(scale: Scale): Promise<Answer> {
  const sockets = makeFolder();
  try {
    return await besideNothing(join(sockets, "nothing"), (nothing) =>
      measured(scale, join(sockets, "stall"), nothing),
    );
  } finally {
    removeFolder(sockets);
  }
}

async function measured({ warm }: Scale, socket: string, nothing: string): Promise<Answer> {
  const due = warm ? 1000 : 10;
  const seconds = warm ? 15 : 0.3;
  const mail = await openMailSink();
  const environment = {
    ...usualFlush.environment,
    STALL_SOCKET: socket,
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    EMAIL_FROM: "reports@sluice.example",
  };
  return await withSluice(
    async (stand) => {
      const bodies = warm ? 10 : 1;
      const shownEvents = bodies * fillEach;
      await fill(stand, bodies);
      await subscribe(stand.url, due);
      const idle = await pace(perSecond, seconds, () => captureOne(stand.url));
      await stand.stores.sql`UPDATE subscriptions SET next_delivery_date = now() - interval '1 second'`;
      await Promise.all([stallOf(socket), stallOf(nothing)]);
      const started = performance.now();
      const delivered = whenDelivered(stand, due, longestSeconds * 1000);
      const [beside, took] = await Promise.all([paceUntil(stand.url, delivered), delivered]);
      const [stall, machine] = await Promise.all([stallOf(socket), stallOf(nothing)]);
      const { letters, readers } = await mail.stop();
      if (letters !== due || readers !== due)
        throw new Error(`${letters} letters came to ${readers} readers`);
      const { p50_ms, p99_ms, max_ms, failed } = beside;
      return {
        question: `${due} subscriptions due at once, on ${insightsCount} insights over ${shownEvents.toLocaleString("en")} events`,
        figures: [
          {
            name: "capture, nothing beside",
            "p50 ms": idle.p50_ms,
            "p99 ms": idle.p99_ms,
            "max ms": idle.max_ms,
            failed: idle.failed,
          },
          { name: "capture beside deliveries", "p50 ms": p50_ms, "p99 ms": p99_ms, "max ms": max_ms, failed },
          { name: "deliveries", s: (took - started) / 1000, ...turnsOf(stall) },
          { name: "a process that does nothing, beside", ...turnsOf(machine) },
        ],
        ratios: [
          { name: "longest turn of the loop, CPU ms", value: stall.cpu_ms, goal: 10 },
          { name: "deliveries, s", value: (took - started) / 1000, goal: 60 },
          {
            name: "capture p99 beside deliveries ÷ max(10 ms, 2 × idle)",
            value: p99_ms / Math.max(10, 2 * idle.p99_ms),
            goal: 1,
          },
        ],
      };
    },
    { environment, preload: stallWatch },
  );
}

/** Sends captures while deliveries run, and not after: figures of an idle server would flatter. */
async function paceUntil(url: string, end: Promise<unknown>): Promise<Paced> {
  let ended = false;
  const over = end.finally(() => {
    ended = true;
  });
  const paced = await pace(
    perSecond,
    longestSeconds,
    () => captureOne(url),
    () => ended,
  );
  await over;
  return paced;
}

async function whenDelivered(stand: SluiceStand, due: number, msMax: number): Promise<number> {
  const started = performance.now();
  for (;;) {
    const delivered = await stand.metric('sluice_subscription_deliveries_total{status="delivered"}');
    if (delivered >= due) return performance.now();
    if (performance.now() - started > msMax) throw new Error(`${delivered} of ${due} were delivered in time`);
    await Bun.sleep(100);
  }
}

function captureOne(url: string): Promise<Response> {
  const body = `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`;
  return fetch(`${url}/capture/`, { method: "POST", headers: { "content-type": "application/json" }, body });
}

/** Events of the last weeks, so that charts have something to show. */
async function fill({ url, rested }: SluiceStand, bodies: number): Promise<void> {
  const text = new TextDecoder().decode(batchBody(fillEach, 1, projectKey));
  let at = 0;
  const recent = text.replaceAll(/"timestamp":"[^"]+"/g, () => {
    const moment = new Date(Date.now() - ((at++ * 7919) % 2_500_000) * 1000);
    return `"timestamp":"${moment.toISOString()}"`;
  });
  for (let i = 0; i < bodies; i++) {
    const body = recent.replaceAll("-774b-", `-7${(i + 256).toString(16)}-`);
    const reply = await fetch(`${url}/batch/`, { method: "POST", body });
    if (!reply.ok) throw new Error(`/batch/ answered ${reply.status}`);
  }
  await rested();
}

async function subscribe(url: string, count: number): Promise<void> {
  const post = async (path: string, body: unknown): Promise<{ id: number }> => {
    const reply = await fetch(`${url}/api/projects/1/${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (reply.status !== 201) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`);
    return (await reply.json()) as { id: number };
  };
  const insights: number[] = [];
  for (let i = 0; i < insightsCount; i++) {
    const series = [{ math: i % 2 === 0 ? "total" : "dau" }];
    const query = { kind: "TrendsQuery", series, dateRange: { date_from: "-30d" } };
    insights.push((await post("insights/", { name: `Insight ${i}`, query })).id);
  }
  for (let i = 0; i < count; i++) {
    await post("subscriptions/", {
      insight: insights[i % insightsCount],
      target_type: "email",
      target_value: `reader-${i}@example.com`,
      frequency: "daily",
      start_date: "2024-01-01T09:00:00Z",
    });
  }
}

async function openMailSink() {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, "mail_sink.ts")], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  const port = Number(await read());
  return {
    port,
    stop: async () => {
      child.stdin.end();
      return JSON.parse(await read()) as { letters: number; readers: number };
    },
  };
}
