// The sealed segments of each lane, from the oldest, until they are flushed; and who waits for that.

import { type LaneName, type Segment, byLane, lanes } from "./segments/segment.ts";

export class SealedSegments {
  readonly lanes: Readonly<Record<LaneName, Segment[]>> = byLane<Segment[]>(() => []);
  /** The paths of all of them. */
  readonly paths = new Set<string>();
  readonly #waits = new Map<bigint, PromiseWithResolvers<void>>();

  add(segment: Segment): void {
    this.paths.add(segment.path);
    this.lanes[segment.lane].push(segment);
  }

  /** Adds segments of any age. */
  addFound(segments: readonly Segment[]): void {
    for (const segment of segments) this.add(segment);
    for (const lane of lanes) this.lanes[lane].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  remove(segment: Segment): void {
    const queue = this.lanes[segment.lane];
    queue.splice(queue.indexOf(segment), 1);
    this.paths.delete(segment.path);
    this.#waits.get(segment.id)?.resolve();
    this.#waits.delete(segment.id);
  }

  /** Resolves when the segment is removed; it may still grow now. */
  gone({ id }: Segment): Promise<void> {
    let wait = this.#waits.get(id);
    if (!wait) this.#waits.set(id, (wait = Promise.withResolvers<void>()));
    return wait.promise;
  }
}
