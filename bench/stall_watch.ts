// Loaded into a server before it starts: notes the longest time between two turns of its event loop, and tells
// whoever asks the socket named in STALL_SOCKET, beginning anew.

export interface Stall {
  /** By the clock: other processes' turns on the core are in it. */
  wall_ms: number;
  /** CPU of the loop's own thread in one turn. */
  cpu_ms: number;
}

const everyMs = 1;
const longest: Stall = { wall_ms: 0, cpu_ms: 0 };
let [turnedAt, used] = [performance.now(), usedMs()];

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

setInterval(() => {
  const [now, cpu] = [performance.now(), usedMs()];
  longest.wall_ms = Math.max(longest.wall_ms, now - turnedAt - everyMs);
  longest.cpu_ms = Math.max(longest.cpu_ms, cpu - used);
  [turnedAt, used] = [now, cpu];
}, everyMs);

Bun.serve({
  unix: process.env["STALL_SOCKET"]!,
  fetch: () => {
    const reply = Response.json(longest);
    Object.assign(longest, { wall_ms: 0, cpu_ms: 0 });
    return reply;
  },
});
