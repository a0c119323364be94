// What does it cost when a body's events lie in sixty months instead of one? Each of the five years is a part of its own.

import { type Answer, type Scale } from "./answer.ts";
import { compareBodies, sluiceRun } from "./cost.ts";
import { writeBodies } from "./material.ts";
import { withSluice } from "./stand.ts";

export async function monthsBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const each = Math.min(scale.bytes, 18_000_000);
    const count = Math.max(1, Math.floor(scale.bytes / each));
    const contestants = [1, 12, 60].map((months) => {
      const bodies = writeBodies(folder, { count, bytes: each, months });
      return [months === 1 ? "1 month" : `${months} months`, () => sluiceRun(sluice, bodies)] as const;
    });
    const goal = { name: "CPU-s/GB of 60 months ÷ 1", goal: 1.15, stretch: 1.05 };
    return await compareBodies(scale, "/batch by months in a body", Object.fromEntries(contestants), goal);
  });
}
