// Loaded into a server before it starts: notes the longest time between two turns of its event loop, and tells
// whoever asks the socket named in STALL_SOCKET, beginning anew. Run by itself it is a process that does nothing
// else: what it notes then is the machine's own, which a virtual one may be when its host takes its cores away
// without saying so. Such a pause counts as CPU of whatever thread it falls upon.

import { dlopen, ptr } from "bun:ffi";

export interface Stall {
  /** By the clock: other processes' turns on the core are in it. */
  wall_ms: number;
  /** CPU of the loop's own thread in one turn. */
  cpu_ms: number;
  /** Turns of more than `longMs` of it: one or two of thousands are the machine's, not the program's. */
  long_turns: number;
}

const everyMs = 1;
const threadCpuTime = 3;
const spec = new BigInt64Array(2);
const threadClock = dlopen("libc.so.6", { clock_gettime: { args: ["int", "ptr"], returns: "int" } }).symbols
  .clock_gettime;
const longMs = 10;
const longest: Stall = { wall_ms: 0, cpu_ms: 0, long_turns: 0 };
let [turnedAt, used] = [performance.now(), usedMs()];

/** By the thread's own clock: what getrusage tells moves only with the kernel's tick, four milliseconds. */
function usedMs(): number {
  threadClock(threadCpuTime, ptr(spec));
  return Number(spec[0]) * 1000 + Number(spec[1]) / 1e6;
}

setInterval(() => {
  const [now, cpu] = [performance.now(), usedMs()];
  longest.wall_ms = Math.max(longest.wall_ms, now - turnedAt - everyMs);
  longest.cpu_ms = Math.max(longest.cpu_ms, cpu - used);
  if (cpu - used > longMs) longest.long_turns++;
  [turnedAt, used] = [now, cpu];
}, everyMs);

Bun.serve({
  unix: process.env["STALL_SOCKET"]!,
  fetch: () => {
    const reply = Response.json(longest);
    Object.assign(longest, { wall_ms: 0, cpu_ms: 0, long_turns: 0 });
    return reply;
  },
});
