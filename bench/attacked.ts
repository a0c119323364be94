// Does any request of a stranger delay others, or take the machine's memory? Each attack is sent once, then 24 times at
// once, while another project captures every 20 ms; then many connections announce bodies and do not send them. Senders
// and probe share the server's cores.

import { join } from "node:path";
import type { Answer, Scale } from "./answer.ts";
import { type Attack, attacks, drained, type Sender } from "./attacks.ts";
import type { Seen } from "./probe.ts";
import { memoryOf, treeOf } from "./process_tree.ts";
import { slowSendersAsked } from "./slow_senders.ts";
import { personalKey, type SluiceStand, usualFlush, withSluice } from "./stand.ts";

const atOnce = 24;
/** How long the server may take to return memory, in ms, and how often it is looked at. */
const returnMs = 15_000;
const pollMs = 50;
/** What an attack may do: the probe's longest wait in ms, and growth of the whole tree in MB. */
const allowed: Record<Sender, { wait: number; growth: number }> = {
  public: { wait: 100, growth: 600 },
  personal: { wait: 250, growth: 1500 },
};

interface Row {
  attack: Attack;
  count: number;
  probe: Seen;
  /** MB: the most above what the tree had before, and what was still used after a rest. */
  growth: number;
  left: number;
  seconds: number;
  answers: string;
}

export async function attackedBench({ warm, only }: Scale): Promise<Answer> {
  return await withSluice(
    async (sluice) => {
      const probe = await startProbe(sluice);
      try {
        const rows: Row[] = [];
        const chosen = attacks().filter(({ name }) => new RegExp(only ?? "").test(name));
        for (const attack of warm ? chosen : chosen.slice(0, 1)) {
          await attack.prepare?.(sluice.url);
          for (const count of [1, atOnce]) {
            await rested(sluice);
            const row = await attacked(sluice, probe, attack, count);
            rows.push(row);
            if (warm) process.stderr.write(`${JSON.stringify(shown(row))}\n`);
          }
        }
        const answer = answerOf(rows);
        if (only !== undefined) return answer;
        await rested(sluice);
        const slow = await slowSendersAsked(sluice, probe, warm, () => megabytesOf(sluice.pid));
        if (warm) for (const row of slow.figures) process.stderr.write(`${JSON.stringify(row)}\n`);
        return {
          ...answer,
          figures: [...answer.figures, ...slow.figures],
          ratios: [...answer.ratios, ...slow.ratios],
        };
      } finally {
        probe.stop();
      }
    },
    { ...usualFlush, merges: true },
  );
}

/** Everything that is kept is stored; at most a minute, since some attacks leave the engine much to do. */
async function rested(sluice: SluiceStand): Promise<void> {
  const until = performance.now() + 60_000;
  while ((await sluice.metric("sluice_journal_pending_events")) > 50 && performance.now() < until)
    await Bun.sleep(pollMs);
}

interface Probe {
  /** Its project. */
  id: number;
  key: string;
  /** What was seen since the last call. */
  tell(): Promise<Seen>;
  stop(): void;
}

/** Captures into a project of its own: what is refused to one project must not be refused to another. */
async function startProbe({ url }: SluiceStand): Promise<Probe> {
  const made = await fetch(`${url}/api/projects/`, {
    method: "POST",
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
    body: '{"name":"probe"}',
  });
  const { id, api_token: key } = (await made.json()) as { id: number; api_token: string };
  // Keys are read again when they change; until then it is unknown here.
  const body = JSON.stringify({ api_key: key, event: "probe", distinct_id: "probe" });
  while (!(await fetch(`${url}/capture/`, { method: "POST", body })).ok) await Bun.sleep(pollMs);
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "probe.ts"), url, key], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  let text = "";
  const tell = async () => {
    child.stdin.write("\n");
    child.stdin.flush();
    for (;;) {
      const end = text.indexOf("\n");
      if (end >= 0) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        return JSON.parse(line) as Seen;
      }
      const { value } = await reader.read();
      text += new TextDecoder().decode(value);
    }
  };
  return { id, key, tell, stop: () => child.kill() };
}

async function attacked(sluice: SluiceStand, probe: Probe, attack: Attack, count: number): Promise<Row> {
  const before = megabytesOf(sluice.pid);
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, megabytesOf(sluice.pid));
  }, pollMs);
  await probe.tell();
  const started = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, (_, i) => answered(attack, sluice.url, i)));
  // The work after the answer counts as well: flushes, and statements that no client waits for any more.
  await Bun.sleep(1000);
  const seen = await probe.tell();
  const seconds = (performance.now() - started) / 1000;
  clearInterval(watch);
  const until = performance.now() + returnMs;
  let left = megabytesOf(sluice.pid) - before;
  while (left > 100 && performance.now() < until) {
    await Bun.sleep(200);
    left = megabytesOf(sluice.pid) - before;
  }
  return { attack, count, probe: seen, growth: most - before, left, seconds, answers: tallied(answers) };
}

/** The status of an answer, which is read to its end. */
async function answered(attack: Attack, url: string, i: number): Promise<string> {
  try {
    const reply = await attack.send(url, i);
    await drained(reply);
    return String(reply.status);
  } catch {
    return "broken";
  }
}

function tallied(answers: string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => (count > 1 ? `${count} × ${answer}` : answer)).join(", ");
}

/** Memory of the server and all its children; shared pages count for each process, before and after alike. */
function megabytesOf(root: number): number {
  let bytes = 0;
  for (const pid of treeOf([root])) {
    try {
      bytes += memoryOf(pid).now || 0;
    } catch {
      // The process has ended meanwhile.
    }
  }
  return bytes / 1e6;
}

function shown({ attack, count, probe, growth, left, seconds, answers }: Row) {
  return {
    name: `${attack.name} × ${count}`,
    key: attack.sender,
    answers,
    "longest wait, ms": probe.max_ms,
    "probe not run, ms": probe.pause_ms,
    refused: probe.refused,
    "growth, MB": growth,
    "left, MB": left,
    seconds,
  };
}

function answerOf(rows: Row[]): Answer {
  const ratios = (["public", "personal"] as const).flatMap((sender) => {
    const own = rows.filter(({ attack }) => attack.sender === sender);
    const [slowest] = own.toSorted((a, b) => b.probe.max_ms - a.probe.max_ms);
    const [largest] = own.toSorted((a, b) => b.growth - a.growth);
    if (!slowest || !largest) return [];
    const named = ({ attack, count }: Row) => `${attack.name} × ${count}`;
    return [
      {
        name: `${sender} key: longest wait of a capture, ms (${named(slowest)})`,
        value: slowest.probe.max_ms,
        goal: allowed[sender].wait,
      },
      {
        name: `${sender} key: most memory, MB (${named(largest)})`,
        value: largest.growth,
        goal: allowed[sender].growth,
      },
    ];
  });
  return {
    question: `attacks, each once and ${atOnce} times at once, beside a capture every 20 ms`,
    figures: rows.map(shown),
    ratios,
  };
}
