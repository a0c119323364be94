// Work in the background, and how it ends with the server.

import { withinMs } from "../core/clock.ts";
import { type Log, reasonOf } from "../core/log.ts";

/** Started when the stores are ready. */
export interface Worker {
  start(): void;
  /** Resolves when it has stopped. */
  close(): Promise<void>;
}

/** Stops all of them. What does not end within `msMax` is left: its leases run out. */
export async function endAll(workers: readonly Worker[], msMax: number, log: Log): Promise<void> {
  await withinMs(Promise.all(workers.map((worker) => worker.close())), msMax).catch((thrown: unknown) => {
    log.warn("work in the background did not end in time", { reason: reasonOf(thrown) });
  });
}
