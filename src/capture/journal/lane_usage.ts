// What waits in a lane, by project: bytes and changes of persons and groups, from the open block until the segment they
// were written to is flushed. Never decides what is too much.

export interface Use {
  /** As blocks weigh their rows; of segments found at the start, as they lie in the file. */
  bytes: number;
  /** Of persons and groups: each becomes a row of its own. Of segments found at the start none are known. */
  changes: number;
}

type Uses = Map<number, Use>;

export class LaneUsage {
  readonly total: Readonly<Use>;
  readonly #total = nothing();
  /** All of it by project; only those that have something. */
  readonly #held: Uses = new Map();
  /** In open blocks, in the group that is being written, and in segments that are not flushed. */
  #open: Uses = new Map();
  #writing: Uses = new Map();
  readonly #segments = new Map<bigint, Uses>();
  /** Rows come many of one project at a time: where its counts are. */
  #project = -1;
  #projectOpen = nothing();
  #projectHeld = nothing();

  constructor() {
    this.total = this.#total;
  }

  /** What one project has waiting. */
  of(project_id: number): Readonly<Use> {
    return this.#held.get(project_id) ?? noUse;
  }

  /** Rows were laid into an open block. */
  add(project_id: number, bytes: number, changes: number): void {
    if (project_id !== this.#project) {
      this.#projectOpen = useIn(this.#open, project_id);
      this.#projectHeld = useIn(this.#held, project_id);
      this.#project = project_id;
    }
    this.#projectOpen.bytes += bytes;
    this.#projectOpen.changes += changes;
    this.#projectHeld.bytes += bytes;
    this.#projectHeld.changes += changes;
    this.#total.bytes += bytes;
    this.#total.changes += changes;
  }

  /** The open blocks are a group that is being written from now on. */
  begin(): void {
    this.#writing = this.#open;
    this.#open = new Map();
    this.#project = -1;
  }

  /** The group, or its first part, is in this segment: it counts until that is flushed. */
  place(segment: bigint): void {
    this.found(segment, this.#writing, false);
    this.#writing = new Map();
  }

  /** What of the group is in no segment was refused. */
  drop(): void {
    this.#subtract(this.#writing);
    this.#writing = new Map();
  }

  /** A segment of an earlier process holds so much. */
  found(segment: bigint, uses: ReadonlyMap<number, Use>, isNew = true): void {
    if (uses.size === 0) return;
    let held = this.#segments.get(segment);
    if (!held) this.#segments.set(segment, (held = new Map()));
    for (const [project_id, use] of uses) {
      addTo(useIn(held, project_id), use);
      if (!isNew) continue;
      addTo(useIn(this.#held, project_id), use);
      addTo(this.#total, use);
    }
  }

  /** The segment is flushed. */
  free(segment: bigint): void {
    const uses = this.#segments.get(segment);
    if (!uses) return;
    this.#segments.delete(segment);
    this.#subtract(uses);
  }

  #subtract(uses: Uses): void {
    for (const [project_id, { bytes, changes }] of uses) {
      const held = useIn(this.#held, project_id);
      held.bytes -= bytes;
      held.changes -= changes;
      this.#total.bytes -= bytes;
      this.#total.changes -= changes;
      if (held.bytes <= 0 && held.changes <= 0) this.#held.delete(project_id);
    }
    // What was remembered of the last project may be gone.
    this.#project = -1;
  }
}

const noUse: Readonly<Use> = nothing();

function nothing(): Use {
  return { bytes: 0, changes: 0 };
}

function useIn(uses: Uses, project_id: number): Use {
  let use = uses.get(project_id);
  if (!use) uses.set(project_id, (use = nothing()));
  return use;
}

function addTo(use: Use, { bytes, changes }: Use): void {
  use.bytes += bytes;
  use.changes += changes;
}
