// How much CPU does it take to append rows to columns, and to seal columns as Native?

import { Block } from "../src/capture/columns/block.ts";
import { ByteColumn } from "../src/storage/native/native.ts";
import { type Answer, interleaved, median, type Scale } from "./answer.ts";
import { batchBody } from "./events.ts";
import { cpuPerGb, eachRow, scanned } from "./rows.ts";

export async function blockBench(scale: Scale): Promise<Answer> {
  const { bytes } = scale;
  const events = Math.max(10, Math.min(7000, Math.floor(bytes / 560)));
  const body = batchBody(events, 1);
  const copies = Math.max(1, Math.floor(bytes / body.length));
  const block = new Block();
  const out = new ByteColumn(1 << 20);
  const scan = scanned(body);
  const times = (run: () => void) => async () =>
    cpuPerGb(body.length * copies, () => {
      for (let i = 0; i < copies; i++) run();
    });
  const append = () => {
    block.clear();
    eachRow(scan, (row) => void block.append(row));
    if (block.rows !== events) throw new Error(`${block.rows} of ${events} rows are in the block`);
  };
  const encode = () => {
    out.length = 0;
    block.encode(out, 1n, 0);
  };
  const contestants = {
    read: times(() => eachRow(scan, () => {})),
    append: times(append),
    encode: times(encode),
  };
  const runs = await interleaved(scale, contestants);
  const of = (name: string) => median(runs[name]!);
  return {
    question: `rows → columns → Native, blocks of ${(body.length / 1e6).toFixed(1)} MB`,
    figures: [
      { name: "rows into columns", "CPU-s/GB": of("append") - of("read") },
      { name: "columns sealed as Native", "CPU-s/GB": of("encode") },
      { name: "Native bytes for a byte of body", "CPU-s/GB": out.length / body.length },
    ],
    ratios: [],
  };
}
