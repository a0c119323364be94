// What a seed plays: how often what fails, and what the server is like.

import type { DiskFaults } from "./disk.ts";
import type { Chance } from "./machine.ts";

export interface Plan {
  lives: number;
  embedded: boolean;
  flushIntervalMs: number;
  engineGoesWrong: number;
  disk: DiskFaults;
  poisons: number;
  powerShare: number;
  clockGoesBack: boolean;
  clients: number;
}

export function planOf(chance: Chance): Plan {
  const failing = chance.is(0.3);
  return {
    lives: 1 + chance.below(5),
    embedded: chance.is(0.5),
    flushIntervalMs: chance.of([20, 60, 300]),
    engineGoesWrong: chance.of([0, 0.1, 0.4]),
    disk: {
      fails: failing ? chance.of([0.005, 0.03, 0.1]) : 0,
      shortens: chance.is(0.3) ? 0.3 : 0,
      bytesMax: failing && chance.is(0.3) ? 3000 + chance.below(20_000) : Number.POSITIVE_INFINITY,
    },
    poisons: chance.is(0.1) ? 0.03 : 0,
    powerShare: chance.of([0, 0.5, 0.9]),
    clockGoesBack: chance.is(0.15),
    clients: 1 + chance.below(5),
  };
}
