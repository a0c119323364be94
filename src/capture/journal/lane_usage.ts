// What is pending in a lane, by project: bytes, and changes of persons and groups, from the open block until their
// segment is flushed.

export interface Use {
  /** As blocks estimate them; for segments found at the start, as in the file. */
  bytes: number;
  /** Of persons and groups; each becomes a row when stored. Unknown, and 0, for segments found at the start. */
  changes: number;
}

type Uses = Map<number, Use>;

export class LaneUsage {
  readonly total: Readonly<Use>;
  readonly #total = nothing();
  /** The sum by project; only projects that have something. */
  readonly #held: Uses = new Map();
  /** Its parts: in open blocks, in the group that is being written, and in segments that are not flushed. */
  #open: Uses = new Map();
  #writing: Uses = new Map();
  readonly #segments = new Map<bigint, Uses>();
  /** The counts of the last project: rows of one project come in runs. */
  #project = -1;
  #projectOpen = nothing();
  #projectHeld = nothing();

  constructor() {
    this.total = this.#total;
  }

  /** What is pending of one project. */
  of(project_id: number): Readonly<Use> {
    return this.#held.get(project_id) ?? noUse;
  }

  /** Adds rows of an open block. */
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

  /** The open blocks become the group that is written. */
  begin(): void {
    this.#writing = this.#open;
    this.#open = new Map();
    this.#project = -1;
  }

  /** The group, or its first part, was written to this segment. */
  place(segment: bigint): void {
    this.found(segment, this.#writing, false);
    this.#writing = new Map();
  }

  /** Subtracts the part of the group that could not be written. */
  drop(): void {
    this.#subtract(this.#writing);
    this.#writing = new Map();
  }

  /** Adds what a segment of an earlier process holds. */
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

  /** Subtracts a segment that was flushed. */
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
    // The last project's counts may have been deleted.
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
