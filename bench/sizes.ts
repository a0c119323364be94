// What does a GB cost in bodies of 1 kB to 20 MB? A body's size should not matter once it is more than a few events.

import { type Answer, type Scale } from "./answer.ts";
import { compareBodies, sluiceRun } from "./cost.ts";
import { writeBodies } from "./material.ts";
import { withSluice } from "./stand.ts";

const sizes = [
  ["1 MB", 1_000_000],
  ["1 kB", 1000],
  ["10 kB", 10_000],
  ["100 kB", 100_000],
  ["5 MB", 5_000_000],
  ["20 MB", 19_800_000],
] as const;

/** Fewer bytes of small bodies: each byte costs more. */
const requestsMax = 10_000;

export async function sizesBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const contestants = sizes.map(([name, size]) => {
      const bytes = Math.min(size, scale.bytes);
      const count = Math.max(1, Math.min(requestsMax, Math.floor(scale.bytes / bytes)));
      const bodies = writeBodies(folder, { count, bytes });
      const connections = Math.max(2, Math.min(64, Math.floor(4_000_000 / size)));
      return [name, () => sluiceRun(sluice, bodies, { connections })] as const;
    });
    const goal = { name: "CPU-s/GB at 20 MB ÷ at 1 MB", goal: 1.15, stretch: 1.05 };
    return await compareBodies(scale, "/batch by size of body", Object.fromEntries(contestants), goal);
  });
}
