// A short body that is one plain event: indexed, judged and laid in one turn, with nothing made for it. Never takes
// anything else: that is left to the pipeline.

import { isUtf8 } from "node:buffer";
import { type Envelope, isHistorical, keyOf } from "./admit.ts";
import { singleKey } from "./fast_layout.ts";
import type { Sending } from "./event.ts";
import type { EventLane } from "./journal_room.ts";
import { entryLength, envelope } from "./member.ts";
import type { CaptureOptions } from "./pipeline.ts";
import { takeTurns } from "./row.ts";
import type { LaidRows, Slab } from "./slab.ts";
import { aheadMicrosMax } from "./timestamp.ts";

/** An event that was laid; nothing is promised until its lane has committed. */
export interface TakenSingle {
  project_id: number;
  historical_migration: boolean;
  lane: EventLane;
}

export class Singles implements Envelope {
  readonly shape = "event";
  readonly items = 1;
  readonly itemKeysDiffer = false;
  readonly bytes: Uint8Array;
  readonly #slab: Slab;
  readonly #options: CaptureOptions;
  readonly #sending: Sending;
  #laid: LaidRows | undefined;
  readonly #append: (block: { appendLaid(laid: LaidRows): number }) => number;

  /** `slab`: one that is used by whoever has his turn. */
  constructor(slab: Slab, options: CaptureOptions) {
    this.#slab = slab;
    this.bytes = slab.body;
    this.#options = options;
    const { groupTypes } = options;
    this.#sending = { project_id: 0, historical_migration: false, received: 0, skew: 0, groupTypes };
    this.#append = (block) => block.appendLaid(this.#laid!);
  }

  /**
   * Lays the event of a body shorter than limits.slabBodyBytesMin; undefined, and nothing is laid, when it is anything
   * else than one plain event of a known project, or when it has to wait.
   * @throws Fault as keyOf() and JournalRoom.laneFor() do.
   */
  take(body: Uint8Array): TakenSingle | undefined {
    const { journal, keys, clock } = this.#options;
    if (journal.full || !isUtf8(body)) return undefined;
    const slab = this.#slab;
    slab.hold(body);
    if (!slab.single()) return undefined;
    const project_id = keys.find(keyOf(this));
    if (project_id === undefined) return undefined;
    const historical_migration = isHistorical(this);
    const lane = journal.room.laneFor(project_id, historical_migration);
    if (lane.crowded) return undefined;
    const sending = this.#sending;
    sending.project_id = project_id;
    sending.historical_migration = historical_migration;
    sending.received = clock.now() * 1000;
    slab.judge(0, 1, sending, sending.received + aheadMicrosMax);
    if (slab.slow > 0 || slab.years !== 1) return undefined;
    this.#laid = slab.lay(0, 0, sending, journal.stamp(), takeTurns(1));
    lane.appendMany(slab.yearAt(0), 1, this.#append, project_id);
    return { project_id, historical_migration, lane };
  }

  member(name: keyof typeof envelope): [number, number] | undefined {
    return this.#placeAt(envelope[name]);
  }

  get itemKey(): [number, number] | undefined {
    return this.#placeAt(singleKey);
  }

  /** One of fast_layout's notes behind the entry. */
  #placeAt(number: number): [number, number] | undefined {
    const { entries } = this.#slab;
    const to = entries[entryLength + number + 1]!;
    return to > 0 ? [entries[entryLength + number]!, to] : undefined;
  }
}
