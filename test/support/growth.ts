// How the CPU time of work grows with what it is given. Held to CPU time, and to the least of several runs, so that a
// busy machine shows the same.

/** Kilobytes of the texts, each four times the one before: what is quadratic is found before it takes minutes. */
const sizesUsual = [4, 16, 64, 256, 1024];

/** Times as much for four times the text: linear is 4. */
export const growthMax = 8;

/** What takes less CPU, in ms, holds nobody up, however it grows. */
const floorMs = 25;

const runsMax = 5;

/** How it grows past `growthMax`, in words; undefined when it does not. `sizes`: each four times the one before. */
export async function fastGrowth(
  textOf: (chars: number) => string,
  take: (text: string) => unknown,
  sizes: readonly number[] = sizesUsual,
): Promise<string | undefined> {
  let before = floorMs;
  for (const size of sizes) {
    const text = textOf(size * 1024);
    const ms = await leastCpuMs(() => take(text), Math.max(floorMs, before * growthMax));
    if (ms > before * growthMax) return `${before} ms, then ${ms} ms for ${size} kB`;
    before = Math.max(floorMs / growthMax, ms);
  }
  return undefined;
}

/** CPU time of the quickest run, in whole ms; repeated until one is within `enough`, unless none comes near it. */
async function leastCpuMs(work: () => unknown, enough: number): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < runsMax && least > enough && (run < 2 || least < 10 * enough); run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, Math.round((user + system) / 1000));
  }
  return least;
}

/** `text` over and over, cut to so many characters. */
export function filled(text: string, chars: number): string {
  return text.repeat(Math.ceil(chars / text.length)).slice(0, chars);
}
