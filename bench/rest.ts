// Whether a server rests: nothing waits to be stored, its engine merges nothing, and no process of it works.

import { cpuSeconds } from "./process_tree.ts";
import type { SluiceStand } from "./stand.ts";

const pollMs = 500;
/** Looks in a row that must find it at rest. */
const looks = 4;
/** Share of a core: keeping watch costs this much. */
const restingShare = 0.1;

/**
 * Waits until the server is at rest: after a load, merges would be measured too.
 * @returns how long it took, in seconds.
 * @throws Error when it still works after `secondsMax`.
 */
export async function rest(sluice: SluiceStand, secondsMax = 180): Promise<number> {
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  await sluice.rested();
  await sluice.derived();
  for (let found = 0; found < looks;) {
    if (elapsed() > secondsMax) throw new Error(`the server did not come to rest within ${secondsMax} s`);
    const [before, from] = [cpuSeconds([sluice.pid]), performance.now()];
    await Bun.sleep(pollMs);
    const share = (cpuSeconds([sluice.pid]) - before) / ((performance.now() - from) / 1000);
    const merges = await sluice.stores.clickhouse.query("SELECT 1 FROM system.merges LIMIT 1");
    found = share < restingShare && merges.length === 0 ? found + 1 : 0;
  }
  return elapsed();
}
