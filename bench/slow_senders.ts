// Senders that open many connections, announce a body on each and send 60 bytes of it: what the usual clients of another
// project see meanwhile. The first row has no such sender.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Answer, Ratio } from "./answer.ts";
import type { ClientSeen } from "./client_probe.ts";
import { personalKey, projectKey, type SluiceStand } from "./stand.ts";

/** How long the clients are looked at, in ms: the bodies that do not come are refused as stalled in the long one. */
const lookedAtMs = { long: 25_000, short: 1000 };
const allowed = { p99: 100, growth: 600 };

interface SlowSender {
  name: string;
  path: string;
  announced: number;
  begun: string;
  count: number;
}

/** @param projectOfProbe the number and the key of the project that the clients send to. */
export async function slowSendersAsked(
  sluice: SluiceStand,
  projectOfProbe: { id: number; key: string },
  isLong: boolean,
  megabytes: () => number,
): Promise<Pick<Answer, "figures" | "ratios">> {
  const clients = talk([join(import.meta.dir, "client_probe.ts"), sluice.url, ...probeOf(projectOfProbe)]);
  const figures: Answer["figures"] = [];
  let [slowest, refused, growth] = [0, 0, 0];
  try {
    for (const sender of [undefined, ...sendersFor(isLong)]) {
      const before = megabytes();
      const senders = sender && talk(commandOf(sluice.url, sender));
      await senders?.line();
      await clients.ask();
      let most = before;
      const until = performance.now() + (isLong ? lookedAtMs.long : lookedAtMs.short);
      while (performance.now() < until) {
        await Bun.sleep(50);
        most = Math.max(most, megabytes());
      }
      const seen = JSON.parse(await clients.ask()) as Record<string, ClientSeen>;
      const answers = senders ? await senders.ask() : "";
      senders?.stop();
      const p99 = Math.max(...Object.values(seen).map(({ p99_ms }) => p99_ms));
      figures.push(figureOf(sender, seen, { answers, growth: most - before, p99 }));
      if (!sender) continue;
      [slowest, growth] = [Math.max(slowest, p99), Math.max(growth, most - before)];
      refused += Object.values(seen).reduce((sum, one) => sum + one.refused, 0);
    }
  } finally {
    clients.stop();
  }
  const ratios: Ratio[] = [
    { name: "slow senders: requests of clients refused", value: refused, goal: 0 },
    {
      name: "slow senders: longest 99th percentile of a kind of client, ms",
      value: slowest,
      goal: allowed.p99,
    },
    { name: "slow senders: most memory, MB", value: growth, goal: allowed.growth },
  ];
  return { figures, ratios };
}

function probeOf({ id, key }: { id: number; key: string }): string[] {
  return [key, personalKey, String(id)];
}

function sendersFor(isLong: boolean): SlowSender[] {
  const keyless = `{"event":"${"x".repeat(50)}`;
  const foreign = `{"api_key":"${projectKey}","batch":[{"event":`;
  const filesMax = Number(spawnSync("sh", ["-c", "ulimit -n"]).stdout.toString()) || Infinity;
  const counts = isLong ? [200, 1000, 8000].filter((count) => 2 * count + 1000 < filesMax) : [50];
  return counts.flatMap((count) => [
    { name: "no key", path: "/batch/", announced: 1_048_576, begun: keyless, count },
    { name: "another project's key", path: "/batch/", announced: 1_048_576, begun: foreign, count },
  ]);
}

function commandOf(url: string, { path, count, announced, begun }: SlowSender): string[] {
  return [join(import.meta.dir, "slow_sender.ts"), url, path, String(count), String(announced), begun];
}

function figureOf(
  sender: SlowSender | undefined,
  seen: Record<string, ClientSeen>,
  { answers, growth, p99 }: { answers: string; growth: number; p99: number },
): Answer["figures"][number] {
  const all = Object.values(seen);
  const worst = Object.entries(seen).find(([, one]) => one.p99_ms === p99)?.[0] ?? "";
  return {
    name: sender ? `${sender.count} slow bodies, ${sender.name}` : "no slow bodies",
    key: sender ? "public" : "",
    answers,
    "longest wait, ms": Math.max(...all.map(({ max_ms }) => max_ms)),
    "p99 of the slowest kind, ms": p99,
    "slowest kind": worst,
    requests: all.reduce((sum, { asked }) => sum + asked, 0),
    refused: all.reduce((sum, one) => sum + one.refused, 0),
    "growth, MB": growth,
  };
}

interface Talking {
  /** The next line that it prints. */
  line(): Promise<string>;
  /** The line with which it answers an empty one. */
  ask(): Promise<string>;
  stop(): void;
}

function talk(command: string[]): Talking {
  const child = Bun.spawn([process.execPath, ...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const line = async (): Promise<string> => {
    for (;;) {
      const end = text.indexOf("\n");
      if (end >= 0) {
        const one = text.slice(0, end);
        text = text.slice(end + 1);
        return one;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error(`${command[0]} has ended`);
      text += decoder.decode(value, { stream: true });
    }
  };
  const ask = () => {
    child.stdin.write("\n");
    child.stdin.flush();
    return line();
  };
  return { line, ask, stop: () => child.kill() };
}
