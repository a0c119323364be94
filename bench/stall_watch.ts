// Loaded into a server before it starts: notes the longest time between two turns of its event loop, and sends it to a
// client of the socket STALL_SOCKET, starting again each time. Run by itself it is an idle process, whose stalls are
// the machine's own: a virtual machine is paused when its host takes the cores away. Such a pause counts as CPU of the
// thread that it falls upon.

import { dlopen, ptr } from "bun:ffi";

export interface Stall {
  /** By the clock, which includes the turns of other processes on the core. */
  wall_ms: number;
  /** CPU of the loop's own thread in one turn. */
  cpu_ms: number;
  /** Turns of more than `longMs` of it: one or two in thousands are the machine's, not the program's. */
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
