// How much CPU does it take to scan a body, and to read its events? Beside it, what JSON.parse takes on the same bytes.

import { type Answer, type Scale, interleaved, median } from "./answer.ts";
import { batchBody } from "./events.ts";
import { cpuPerGb, eachRow, scanned } from "./rows.ts";

const decoder = new TextDecoder();

export async function scanBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const events = Math.max(10, Math.min(32_000, Math.floor(bytes / 560)));
  const body = batchBody(events, 1);
  const copies = Math.max(1, Math.floor(bytes / body.length));
  const found = (count: number) => {
    if (count !== events) throw new Error(`${count} of ${events} events were found`);
  };
  const times = (run: () => number) => async () =>
    cpuPerGb(body.length * copies, () => {
      for (let i = 0; i < copies; i++) found(run());
    });
  const contestants = {
    scan: times(() => scanned(body).count),
    "scan, and rows read": times(() => eachRow(scanned(body), () => {})),
    "JSON.parse": times(() => (JSON.parse(decoder.decode(body)) as { batch: unknown[] }).batch.length),
  };
  const runs = await interleaved(scale, contestants);
  const figures = Object.entries(runs).map(([name, all]) => ({ name, "CPU-s/GB": median(all) }));
  const [, read, parse] = figures as [(typeof figures)[0], (typeof figures)[0], (typeof figures)[0]];
  const value = read["CPU-s/GB"] / parse["CPU-s/GB"];
  return { question: "body → rows, in one process", figures, ratios: [{ name: "rows ÷ JSON.parse", value }] };
}
