// The lanes that one body's rows go to: one, unless its project gets ahead of others while they are laid. Never lays a
// row itself.

import type { Journal } from "./journal.ts";
import type { EventLane } from "./journal_room.ts";

interface UsedLane {
  lane: EventLane;
  /** Groups of it that had failed before. */
  failedBefore: number;
}

export class UsedLanes {
  readonly #journal: Journal;
  readonly #project_id: number;
  readonly #used: UsedLane[] = [];
  readonly #mergesFailedBefore: number;

  /** @throws Fault as JournalRoom.laneFor(). */
  constructor(journal: Journal, project_id: number, isHistorical: boolean) {
    this.#journal = journal;
    this.#project_id = project_id;
    this.#mergesFailedBefore = journal.merging.failedGroups;
    this.#use(journal.room.laneFor(project_id, isHistorical));
  }

  /** Where the next rows go. */
  get lane(): EventLane {
    return this.#used.at(-1)!.lane;
  }

  /** The same after it was looked at anew. A body that began is taken to its end: nothing is refused here. */
  next(): EventLane {
    const { live, historical, room } = this.#journal;
    if (this.lane === live && room.isAhead(this.#project_id)) this.#use(historical);
    return this.lane;
  }

  /** True when a group that may have held some of its rows could not be written. */
  get failed(): boolean {
    return (
      this.#journal.merging.failedGroups !== this.#mergesFailedBefore ||
      this.#used.some(({ lane, failedBefore }) => lane.failedGroups !== failedBefore)
    );
  }

  /** Merges are as safe as their events; what another request left in their lane goes along. */
  async commit(): Promise<void> {
    const { merging } = this.#journal;
    const commits = this.#used.map(({ lane }) => lane.commit());
    if (merging.openRows + merging.writingRows > 0) commits.push(merging.commit());
    if (commits.length === 1) await commits[0];
    else await Promise.all(commits);
  }

  /** Resolves when all that is on the disk of these lanes is in ClickHouse. */
  async stored(): Promise<void> {
    await Promise.all(this.#used.map(({ lane }) => this.#journal.stored(lane)));
  }

  #use(lane: EventLane): void {
    this.#used.push({ lane, failedBefore: lane.failedGroups });
  }
}
