// The lanes that the events of one body go to: one, unless its project gets ahead of others while they are appended.

import type { Journal } from "./journal.ts";
import type { EventLane } from "./journal_room.ts";

export class UsedLanes {
  readonly #journal: Journal;
  readonly #project_id: number;
  readonly #used: EventLane[];

  /** @throws Fault as JournalRoom.laneFor(). */
  constructor(journal: Journal, project_id: number, isHistorical: boolean) {
    this.#journal = journal;
    this.#project_id = project_id;
    this.#used = [journal.room.laneFor(project_id, isHistorical)];
  }

  /** Where the next rows go. A body that was begun is taken to its end: no lane refuses it any more. */
  next(): EventLane {
    const { live, historical, room } = this.#journal;
    if (this.#used.at(-1) === live && room.isAhead(this.#project_id)) this.#used.push(historical);
    return this.#used.at(-1)!;
  }

  /** Resolves when all that is on the disk of these lanes is in ClickHouse. */
  async stored(): Promise<void> {
    await Promise.all(this.#used.map((lane) => this.#journal.stored(lane)));
  }
}
