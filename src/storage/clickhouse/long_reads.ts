// Long pages are read block by block, each by a statement of its own. A page holds a permit from its first block to its
// last: only as many run at once as can finish in time, and others are refused before they cost much.

import { limits } from "../../core/limits.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { tooManyWait } from "./error.ts";
import { clickhouseLimits } from "./limits.ts";

export type LongReads = ReturnType<typeof openLongReads>;

export function openLongReads() {
  const { longReadPermits, largePersonPermits, largePersonsWaitingMax } = clickhouseLimits;
  const permits = new Semaphore(longReadPermits, 0, limits.workingFreeMultiple);
  return {
    /** Permits for persons with many ids: each uses the engine for about a second. */
    persons: new Semaphore(largePersonPermits, largePersonsWaitingMax, limits.workingFreeMultiple),
    /**
     * Yields the blocks, read under a permit that is held until the last was read or the generator ends.
     * @throws ClickHouseError TOO_MANY_SIMULTANEOUS_QUERIES where the first block is requested and no permit is free.
     */
    withPermit: async function* <Block>(project_id: number, blocks: () => AsyncGenerator<Block, void>) {
      const leave = await permits.enter(project_id);
      if (!leave) throw tooManyWait();
      try {
        yield* blocks();
      } finally {
        leave();
      }
    },
  };
}
