// A model of persons in memory, fed with every event in order of arrival: the expected state, in the simplest form.

import type { ReadPerson } from "./persons.ts";
import { byIds } from "./persons.ts";

export interface ModelEvent {
  event: string;
  distinct_id: string;
  uuid: string;
  /** Milliseconds since 1970. */
  at: number;
  properties: {
    $set?: Record<string, unknown>;
    $set_once?: Record<string, unknown>;
    $unset?: string[];
    $anon_distinct_id?: string;
    alias?: string;
    $process_person_profile?: boolean;
  };
}

interface Change {
  id: string;
  at: number;
  uuid: string;
  rank: number;
  what: "set" | "once" | "unset";
  value: unknown;
}

/** [senior, weak, at, rank], compared in turn. */
type Order = [number, number, number, number];

export class PersonModel {
  readonly #changes = new Map<string, Change[]>();
  readonly #first = new Map<string, number>();
  readonly #mains = new Map<string, { main: string; at: number }>();
  /** When the events happened that merged an id. */
  readonly #mergedAt = new Map<string, number[]>();
  /** Ids of persons that were split, on either side. */
  readonly #split = new Set<string>();
  refused = 0;
  /** The rank of each event's first arrival since the journal was opened. */
  readonly #ranks = new Map<string, number>();
  #arrivals = 0;

  /** A journal that is opened anew does not know earlier ranks. */
  restart(): void {
    this.#ranks.clear();
  }

  tell({ event, distinct_id: id, uuid, at, properties }: ModelEvent): void {
    if (properties.$process_person_profile === false) return;
    this.#first.set(id, Math.min(at, this.#first.get(id) ?? at));
    const rank = this.#ranks.get(uuid) ?? ++this.#arrivals;
    this.#ranks.set(uuid, rank);
    const { $set = {}, $set_once = {}, $unset = [] } = properties;
    const note = (key: string, what: Change["what"], value: unknown) => {
      this.#changes.set(key, [...(this.#changes.get(key) ?? []), { id, at, uuid, rank, what, value }]);
    };
    for (const [key, value] of Object.entries($set_once)) note(key, "once", value);
    for (const [key, value] of Object.entries($set)) if (!$unset.includes(key)) note(key, "set", value);
    for (const key of $unset) note(key, "unset", undefined);
    const other = event === "$identify" ? properties.$anon_distinct_id : properties.alias;
    if (other === undefined) return;
    const [from, into] = event === "$create_alias" ? [id, other] : [other, id];
    this.#merge(event, from, into, at);
  }

  #merge(event: string, from: string, into: string, at: number): void {
    const [old, main] = [this.#mainOf(from), this.#mainOf(into)];
    if (old === main) return;
    const both = this.#mains.has(old) && (event === "$identify" || this.#mains.has(main));
    if (both && event !== "$merge_dangerously") {
      this.refused++;
      return;
    }
    const ofBoth = [...this.#mains].filter(([, merged]) => merged.main === old || merged.main === main);
    for (const id of new Set([old, main, ...ofBoth.map(([id]) => id)])) {
      this.#mergedAt.set(id, [...(this.#mergedAt.get(id) ?? []), at]);
    }
    for (const [id, merged] of this.#mains) if (merged.main === old) this.#mains.set(id, { main, at });
    this.#mains.set(old, { main, at });
    if (!this.#mains.has(main)) this.#mains.set(main, { main, at });
  }

  /** The main ids of persons with several ids. */
  get merged(): string[] {
    return [...new Set(this.#mains.values().map(({ main }) => main))].toSorted();
  }

  /** Splits these ids off, or all but the main id. An id without events of its own is known since it was merged. */
  split(main: string, ids?: readonly string[]): void {
    for (const [id, merged] of this.#mains) {
      if (merged.main !== main) continue;
      this.#split.add(id);
      this.#first.set(id, this.#first.get(id) ?? Math.max(...this.#mergedAt.get(id)!));
      if (id !== main && ids?.includes(id) !== false) this.#mains.delete(id);
    }
  }

  /**
   * The first and last moment at which a person of these ids may have been created, where some were split off or left: an
   * id was seen when it was merged, too, and merges that are applied together leave only the last one's time. Undefined
   * where it is known.
   */
  createdWithin(ids: readonly string[]): [from: number, to: number] | undefined {
    if (!ids.some((id) => this.#split.has(id))) return undefined;
    const first = (id: string) => this.#first.get(id) ?? Number.POSITIVE_INFINITY;
    const from = Math.min(...ids.flatMap((id) => [first(id), ...(this.#mergedAt.get(id) ?? [])]));
    return [from * 1000, Math.min(...ids.map(first)) * 1000];
  }

  /** The ids under a main id, without itself. */
  idsUnder(main: string): string[] {
    return [...this.#mains].filter(([id, merged]) => merged.main === main && id !== main).map(([id]) => id);
  }

  #mainOf(id: string): string {
    return this.#mains.get(id)?.main ?? id;
  }

  /** Keys of which state that is bounded cannot know the value are left out, and named. */
  persons(): { persons: ReadPerson[]; unknowable: Set<string> } {
    const ids = new Set([...this.#first.keys(), ...this.#mains.keys()]);
    const byMain = Map.groupBy(ids, (id) => this.#mainOf(id));
    const unknowable = new Set<string>();
    const persons = [...byMain].map(([main, members]) => {
      const properties: Record<string, unknown> = {};
      for (const [key, all] of this.#changes) {
        const changes = all.filter(({ id }) => this.#mainOf(id) === main);
        const value = this.#valueOf(changes);
        if (value === unknown) unknowable.add(`${members.toSorted()[0]} ${key}`);
        else if (value !== undefined) properties[key] = value;
      }
      const created = Math.min(...members.map((id) => this.#first.get(id) ?? Number.POSITIVE_INFINITY));
      const distinct_ids = members.toSorted();
      return { distinct_ids, properties, created_at: created * 1000, is_identified: this.#mains.has(main) };
    });
    return { persons: persons.toSorted(byIds), unknowable };
  }

  #valueOf(changes: Change[]): unknown {
    const order = ({ id, at, rank }: Change): Order => {
      const merged = this.#mains.get(id);
      const senior = !merged || merged.main === id || at >= merged.at;
      return [senior ? 1 : 0, senior ? 0 : -merged!.at, at, rank];
    };
    const entered = (change: Change): Order => {
      const [senior, weak] = order(change);
      return [senior ? change.at : -weak, senior, change.at, change.rank];
    };
    const last = changes
      .filter(({ what }) => what !== "once")
      .toSorted((a, b) => compare(order(b), order(a)))[0];
    if (last?.what === "set") return last.value;
    const onces = changes.filter(({ what }) => what === "once");
    const later = onces.filter((one) => !last || compare(order(one), order(last)) > 0);
    const split = (id: string) =>
      new Set(later.filter((one) => one.id === id).map((one) => one.uuid)).size > 1;
    if (onces.some((one) => !later.includes(one) && split(one.id))) return unknown;
    return later.toSorted((a, b) => compare(entered(a), entered(b)))[0]?.value;
  }
}

const unknown = Symbol("unknowable");

function compare(one: Order, other: Order): number {
  for (const [i, value] of one.entries()) {
    if (value !== other[i]) return value < other[i]! ? -1 : 1;
  }
  return 0;
}
