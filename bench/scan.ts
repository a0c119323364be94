// How much CPU does it take to scan a body, and to read its events? Beside it, what JSON.parse takes on the same bytes.

import { BodyScanner } from "../src/capture/scan/body_scanner.ts";
import { ScanArena } from "../src/capture/wasm/scan_arena.ts";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { batchBody } from "./events.ts";
import { cpuPerGb, eachRow, scanned } from "./rows.ts";

const decoder = new TextDecoder();
const sent = { received: Date.UTC(2026, 0) * 1000, skew: 0, project_id: 1 };

/** What the server does with a long body: the fast scan, and columns of its plain rows. */
function fast(arena: ScanArena, body: Uint8Array): { index(): number; lay(): number } {
  arena.body.set(body);
  const bytes = arena.close(body.length);
  const index = () => {
    const scan = new BodyScanner(bytes, { fast: arena });
    while (!scan.advance(1 << 20));
    return scan.index.count;
  };
  const lay = () => {
    const count = index();
    let rows = 0;
    for (let first = 0; first < count;) {
      const through = arena.classify(first, count, sent, sent.received);
      const sending = { project_id: 1, historical_migration: true };
      for (let year = 0; year < arena.yearCount; year++) {
        rows += arena.writeColumns(first, year, sending, sent.received, 0).rows;
      }
      first += through;
    }
    return rows;
  };
  return { index, lay };
}

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
  const { index, lay } = fast(new ScanArena(body.length), body);
  const contestants = {
    scan: times(() => scanned(body).count),
    "scan, and rows read": times(() => eachRow(scanned(body), () => {})),
    "scan, the fast way": times(index),
    "scan, and rows laid, the fast way": times(lay),
    "JSON.parse": times(() => (JSON.parse(decoder.decode(body)) as { batch: unknown[] }).batch.length),
  };
  const runs = await interleaved(scale, contestants);
  const figures = Object.entries(runs).map(([name, all]) => ({ name, "CPU-s/GB": median(all) }));
  const cpuOf = (name: keyof typeof contestants) =>
    figures.find((figure) => figure.name === name)?.["CPU-s/GB"] ?? Number.NaN;
  const parse = cpuOf("JSON.parse");
  const ratios = [
    { name: "rows ÷ JSON.parse", value: cpuOf("scan, and rows read") / parse },
    {
      name: "rows laid the fast way ÷ JSON.parse",
      value: cpuOf("scan, and rows laid, the fast way") / parse,
    },
  ];
  return { question: "body → rows, in one process", figures, ratios };
}
