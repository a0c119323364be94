// Do captures notice people who look? Live captures at a steady rate, in turns: nobody looks, and twenty consoles
// follow the project they come to, with two keys of people.

import { type Answer, median, type Scale } from "./answer.ts";
import { pace, type Paced } from "./pace.ts";
import { cpuSeconds } from "./process_tree.ts";
import { personalKey, projectKey, withSluice } from "./stand.ts";

const perSecond = 300;
const consoles = 20;

export async function consolesBench({ rounds, warm }: Scale): Promise<Answer> {
  // A disk that stalls decides the p99 of the turn it falls into: turns are short and many, so that it spoils few of
  // them and the median is a turn without, and the two take the first place by turns.
  const seconds = warm ? 5 : 0.3;
  const turns = warm ? 4 * Math.max(1, rounds) : 1;
  return await withSluice(async ({ url, pid }) => {
    const capture = async (): Promise<Turn> => {
      const before = cpuSeconds([pid]);
      const run = await pace(perSecond, seconds, () => captureOne(url));
      return { ...run, cpu_s: cpuSeconds([pid]) - before };
    };
    const keys = [await newKey(url), await newKey(url)];
    const alone: Turn[] = [];
    const followed: Turn[] = [];
    if (warm) await capture();
    const besideConsoles = async () => {
      const stop = await openConsoles(url, keys);
      followed.push(await capture());
      stop();
    };
    for (let turn = 0; turn < turns; turn++) {
      if (turn % 2 === 1) await besideConsoles();
      alone.push(await capture());
      if (turn % 2 === 0) await besideConsoles();
    }
    const p99 = (runs: Turn[]) => median(runs.map(({ p99_ms }) => p99_ms));
    const cpu = (runs: Turn[]) => median(runs.map(({ cpu_s }) => cpu_s / seconds));
    const shown = (name: string, runs: Turn[]) => ({
      name,
      "p50 ms": median(runs.map(({ p50_ms }) => p50_ms)),
      "p99 ms": p99(runs),
      "CPU-s a second": cpu(runs),
      failed: runs.reduce((sum, run) => sum + run.failed, 0),
    });
    return {
      question: `captures at ${perSecond}/s, ${consoles} consoles open`,
      figures: [shown("nobody looks", alone), shown(`${consoles} consoles`, followed)],
      ratios: [
        { name: "capture p99 beside consoles ÷ alone", value: p99(followed) / p99(alone), goal: 1.2 },
        { name: "CPU beside consoles ÷ alone", value: cpu(followed) / cpu(alone), goal: 1.05 },
      ],
    };
  });
}

interface Turn extends Paced {
  /** Of the whole process tree. */
  cpu_s: number;
}

async function newKey(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ label: "a console", scopes: ["*"] });
  const reply = await fetch(`${url}/api/personal_api_keys/`, { method: "POST", headers, body });
  return ((await reply.json()) as { value: string }).value;
}

/** Opens streams as pages do, and reads them; returns what ends them. One key may follow ten times at once. */
async function openConsoles(url: string, keys: readonly string[]): Promise<() => void> {
  const stop = new AbortController();
  const open = async (_: unknown, i: number): Promise<void> => {
    const headers = { authorization: `Bearer ${keys[i % keys.length]}` };
    const reply = await fetch(`${url}/console/stream/1`, { headers, signal: stop.signal });
    if (!reply.ok || !reply.body) throw new Error(`a console was answered ${reply.status}`);
    void readAll(reply.body);
  };
  await Promise.all(Array.from({ length: consoles }, open));
  return () => stop.abort();
}

async function readAll(body: ReadableStream<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // The page was closed.
  }
}

function captureOne(url: string): Promise<Response> {
  return fetch(`${url}/capture/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`,
  });
}
