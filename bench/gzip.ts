// What does a GB cost that comes gzipped, beside the same GB sent plain?

import { readFileSync } from "node:fs";
import { type Answer, type Scale } from "./answer.ts";
import { compareBodies, sluiceRun } from "./cost.ts";
import { writeBodies, writePack } from "./material.ts";
import { withSluice } from "./stand.ts";

export async function gzipBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const each = Math.min(scale.bytes, 18_000_000);
    const count = Math.max(1, Math.floor(scale.bytes / each));
    const plain = writeBodies(folder, { count, bytes: each });
    const bytes = readFileSync(plain.pack.path);
    const { pack } = writePack(
      folder,
      plain.pack.ends.map((end, i) => Bun.gzipSync(bytes.subarray(plain.pack.ends[i - 1] ?? 0, end))),
    );
    const headers = { "Content-Encoding": "gzip" };
    // Costs are for each GB of JSON, not for each GB on the wire.
    const zipped = { ...plain, pack };
    const contestants = {
      plain: () => sluiceRun(sluice, plain),
      gzip: () => sluiceRun(sluice, zipped, { headers }),
    };
    const goal = { name: "CPU per inflated GB, gzip ÷ plain", goal: 1.6, stretch: 1.4 };
    return await compareBodies(scale, "/batch, gzip beside plain, 18 MB inflated", contestants, goal);
  });
}
