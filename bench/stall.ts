// What stall_watch.ts noted, in a server or in an idle process; the stalls of the latter are the machine's.

import { resolve } from "node:path";
import type { Stall } from "./stall_watch.ts";

export const stallWatch = resolve(import.meta.dir, "stall_watch.ts");

/** Runs with an idle process beside that only watches its own turns: its stalls are the machine's. */
export async function besideNothing<Result>(
  socket: string,
  run: (socket: string) => Promise<Result>,
): Promise<Result> {
  const env = { PATH: process.env["PATH"] ?? "", STALL_SOCKET: socket };
  const child = Bun.spawn([process.execPath, stallWatch], { env });
  try {
    return await run(socket);
  } finally {
    child.kill();
    await child.exited;
  }
}

/** What was noted since the last call. */
export async function stallOf(socket: string): Promise<Stall> {
  return (await (await fetch("http://stall/", { unix: socket })).json()) as Stall;
}

export function turnsOf({ cpu_ms, long_turns, wall_ms }: Stall) {
  return { "CPU ms of a turn": cpu_ms, "turns of over 10 ms": long_turns, "ms without a turn": wall_ms };
}
