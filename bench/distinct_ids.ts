// What does it cost when every event has another distinct id? Few ids beside as many as there are events, up to a
// million. Both have as many sessions.

import { type Answer, type Scale } from "./answer.ts";
import { compareBodies, sluiceRun } from "./cost.ts";
import { writeBodies } from "./material.ts";
import { withSluice } from "./stand.ts";

export async function distinctIdsBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const each = Math.min(scale.bytes, 18_000_000);
    const count = Math.max(1, Math.floor(scale.bytes / each));
    const contestants = [1, 1_000_000].map((distinctIds) => {
      const bodies = writeBodies(folder, { count, bytes: each, distinctIds, strangers: true });
      const ids = Math.min(distinctIds, bodies.events);
      return [`${ids.toLocaleString("en")} ids`, () => sluiceRun(sluice, bodies)] as const;
    });
    const goal = { name: "CPU-s/GB of 1M distinct ids ÷ 1", goal: 1.05, stretch: 1.02 };
    return await compareBodies(scale, "/batch by distinct ids", Object.fromEntries(contestants), goal);
  });
}
