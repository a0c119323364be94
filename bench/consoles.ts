// Do captures notice people who look? Live captures at a steady rate, in turns: nobody looks, and twenty consoles
// follow the project they come to.

import { type Answer, median, type Scale } from "./answer.ts";
import { pace, type Paced } from "./pace.ts";
import { personalKey, projectKey, withSluice } from "./stand.ts";

const perSecond = 300;
const consoles = 20;

export async function consolesBench({ rounds, warm }: Scale): Promise<Answer> {
  // A disk that stalls decides the p99 of the turn it falls into: turns are short and many, so that it spoils few of
  // them and the median is a turn without, and the two take the first place by turns.
  const seconds = warm ? 5 : 0.3;
  const turns = warm ? 4 * Math.max(1, rounds) : 1;
  return await withSluice(async ({ url }) => {
    const capture = () => pace(perSecond, seconds, () => captureOne(url));
    const alone: Paced[] = [];
    const followed: Paced[] = [];
    if (warm) await capture();
    const besideConsoles = async () => {
      const stop = await openConsoles(url);
      followed.push(await capture());
      stop();
    };
    for (let turn = 0; turn < turns; turn++) {
      if (turn % 2 === 1) await besideConsoles();
      alone.push(await capture());
      if (turn % 2 === 0) await besideConsoles();
    }
    const p99 = (runs: Paced[]) => median(runs.map(({ p99_ms }) => p99_ms));
    const shown = (name: string, runs: Paced[]) => ({
      name,
      "p50 ms": median(runs.map(({ p50_ms }) => p50_ms)),
      "p99 ms": p99(runs),
      failed: runs.reduce((sum, run) => sum + run.failed, 0),
    });
    return {
      question: `captures at ${perSecond}/s, ${consoles} consoles open`,
      figures: [shown("nobody looks", alone), shown(`${consoles} consoles`, followed)],
      ratios: [
        { name: "capture p99 beside consoles ÷ alone", value: p99(followed) / p99(alone), goal: 1.05 },
      ],
    };
  });
}

/** Opens streams as pages do, and reads them; returns what ends them. */
async function openConsoles(url: string): Promise<() => void> {
  const stop = new AbortController();
  const open = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${personalKey}` };
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
