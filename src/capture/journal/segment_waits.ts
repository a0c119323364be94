// Those who wait until segments are in their store.

import type { Segment } from "./segments/segment.ts";

export class SegmentWaits {
  readonly #waits = new Map<bigint, PromiseWithResolvers<void>>();

  /** Resolves when the segment is done with; to be asked for before it is. */
  wait({ id }: Segment): Promise<void> {
    let wait = this.#waits.get(id);
    if (!wait) this.#waits.set(id, (wait = Promise.withResolvers<void>()));
    return wait.promise;
  }

  done({ id }: Segment): void {
    this.#waits.get(id)?.resolve();
    this.#waits.delete(id);
  }
}
