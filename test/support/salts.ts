// Salts of days as one Postgres keeps them for several processes, without a Postgres.

import { Salts } from "../../src/capture/cookieless/day.ts";
import type { SaltSource } from "../../src/capture/cookieless/store.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";

export interface KeptSalts extends SaltSource {
  /** What is stored. */
  readonly stored: Map<string, Uint8Array>;
  isAway: boolean;
  /** How often it was read. */
  asked: number;
}

export function keptSalts(): KeptSalts {
  const stored = new Map<string, Uint8Array>();
  const kept: KeptSalts = {
    stored,
    isAway: false,
    asked: 0,
    replace: async (days, fresh) => {
      kept.asked++;
      await Promise.resolve();
      if (kept.isAway) throw new Error("Postgres is away");
      for (const [i, day] of days.entries()) if (!stored.has(day)) stored.set(day, fresh[i]!);
      for (const day of stored.keys()) if (day < days[0]!) stored.delete(day);
      return new Map([...stored].filter(([day]) => day <= days.at(-1)!));
    },
  };
  return kept;
}

/** A process that has looked once. */
export async function saltsOf(source: SaltSource, clock: Clock): Promise<Salts> {
  const salts = new Salts({ source, clock, log: silentLog });
  await salts.poll().catch(() => {});
  return salts;
}
