// A short body that is one plain event: indexed, judged and appended in one turn, with no object made for it. Any other
// body is left to the pipeline, with its index.

import { isUtf8 } from "node:buffer";
import { type Envelope, isHistorical, keyOf } from "../event/body_key.ts";
import { singleKey } from "../wasm/layout.ts";
import type { Sending } from "../event/event.ts";
import type { EventLane } from "../journal/journal_room.ts";
import { entryLength, envelope } from "../scan/event_fields.ts";
import type { CaptureOptions } from "../pipeline.ts";
import { takeTurns } from "../event/row.ts";
import type { ArenaPool } from "./arena_pool.ts";
import { ReceivedBody } from "./received_body.ts";
import type { ColumnBatch, ScanArena } from "../wasm/scan_arena.ts";
import { aheadMicrosMax } from "../scan/timestamp.ts";

/** Whose event it was and where it went; nothing is promised until its lane has committed. */
export interface TakenEvent {
  project_id: number;
  historical_migration: boolean;
}

export class SingleEvents implements Envelope {
  readonly shape = "event";
  readonly items = 1;
  readonly itemKeysDiffer = false;
  readonly bytes: Uint8Array;
  readonly #arenas: ArenaPool;
  readonly #arena: ScanArena;
  /** Whether the last body was one plain event; undefined when it was not scanned. */
  #isSingle: boolean | undefined;
  readonly #options: CaptureOptions;
  readonly #sending: Sending;
  #columns: ColumnBatch | undefined;
  readonly #append: (block: { appendColumns(columns: ColumnBatch): number }) => number;

  constructor(arenas: ArenaPool, options: CaptureOptions) {
    this.#arenas = arenas;
    this.#arena = arenas.short;
    this.bytes = this.#arena.body;
    this.#options = options;
    const { groupTypes } = options;
    this.#sending = { project_id: 0, historical_migration: false, received: 0, skew: 0, groupTypes };
    this.#append = (block) => block.appendColumns(this.#columns!);
  }

  /**
   * Appends the event of a body shorter than limits.arenaBodyBytesMin; returns its lane and fills `taken`. Undefined,
   * and nothing is appended, when it is anything else than one plain event of a known project, or when it has to wait.
   * @throws Fault as keyOf() and JournalRoom.laneFor() do.
   */
  take(body: Uint8Array, taken: TakenEvent): EventLane | undefined {
    this.#isSingle = undefined;
    const { journal, keys, clock } = this.#options;
    if (journal.full || !isUtf8(body)) return undefined;
    const arena = this.#arena;
    arena.hold(body);
    this.#isSingle = arena.single();
    if (!this.#isSingle) return undefined;
    const project_id = keys.find(keyOf(this));
    if (project_id === undefined) return undefined;
    const historical_migration = isHistorical(this);
    const lane = journal.room.laneFor(project_id, historical_migration);
    if (lane.crowded) return undefined;
    const sending = this.#sending;
    sending.project_id = project_id;
    sending.historical_migration = historical_migration;
    sending.received = clock.now() * 1000;
    arena.judge(0, 1, sending, sending.received + aheadMicrosMax);
    if (arena.slow > 0 || arena.years !== 1) return undefined;
    this.#columns = arena.writeColumns(0, 0, sending, journal.stamp(), takeTurns(1));
    lane.appendMany(arena.yearAt(0), 1, this.#append, project_id);
    taken.project_id = project_id;
    taken.historical_migration = historical_migration;
    return lane;
  }

  /** The body that take() has just left, with what is known of it; in the same turn. */
  received(body: Uint8Array): ReceivedBody {
    return new ReceivedBody(this.#arenas, body, this.#isSingle);
  }

  member(name: keyof typeof envelope): [number, number] | undefined {
    return this.#placeAt(envelope[name]);
  }

  get itemKey(): [number, number] | undefined {
    return this.#placeAt(singleKey);
  }

  /** One of the pairs that single() writes behind the entry. */
  #placeAt(number: number): [number, number] | undefined {
    const { entries } = this.#arena;
    const to = entries[entryLength + number + 1]!;
    return to > 0 ? [entries[entryLength + number]!, to] : undefined;
  }
}
