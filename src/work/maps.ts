// Maps that do not grow without end: numbers that are above nought, the entries that were put in last, values within a
// size, answers of the last moments.

import type { Clock } from "../core/clock.ts";

/** Numbers by owner, such as bytes or permits held now: an owner that comes back to nought takes no memory. */
export class Tally<Owner> {
  readonly #numbers = new Map<Owner, number>();

  of(owner: Owner): number {
    return this.#numbers.get(owner) ?? 0;
  }

  /** `by` may be negative. */
  add(owner: Owner, by: number): void {
    const sum = this.of(owner) + by;
    if (sum > 0) this.#numbers.set(owner, sum);
    else this.#numbers.delete(owner);
  }
}

/** Makes the entry the map's newest, and drops the oldest one beyond `sizeMax`. */
export function putNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, sizeMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > sizeMax) map.delete(map.keys().next().value!);
}

/** Values up to a size, of all and of one owner: the least recently read are dropped first. */
export class SizedCache<Owner, Value> {
  readonly #sizeMax: number;
  readonly #ownSizeMax: number;
  /** The least recently read first. */
  readonly #entries = new Map<string, { owner: Owner; value: Value; size: number }>();
  readonly #ownSizes = new Tally<Owner>();
  #size = 0;

  constructor(sizeMax: number, ownSizeMax: number = sizeMax) {
    this.#sizeMax = sizeMax;
    this.#ownSizeMax = ownSizeMax;
  }

  find(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry) putNewest(this.#entries, key, entry, Number.POSITIVE_INFINITY);
    return entry?.value;
  }

  /** Drops others until it fits; one that is longer than all may be is in the cache alone. */
  put(owner: Owner, key: string, value: Value, size: number): void {
    this.drop(key);
    for (const [otherKey, entry] of this.#entries) {
      if (this.#ownSizes.of(owner) + size <= this.#ownSizeMax) break;
      if (entry.owner === owner) this.drop(otherKey);
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#size + size <= this.#sizeMax) break;
      this.drop(oldest);
    }
    this.#entries.set(key, { owner, value, size });
    this.#ownSizes.add(owner, size);
    this.#size += size;
  }

  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#ownSizes.add(entry.owner, -entry.size);
    this.#size -= entry.size;
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.drop(key);
  }
}

/**
 * Answers of the last moments, for all who ask meanwhile. An answer counts from when it came, a failure is forgotten.
 * @param ageMsMax of an answer, which is not held for longer. @param sizeMax how many are held.
 * @param isKept false: the answer is forgotten like a failure.
 */
export function openRecent<Key, Answer>(
  { elapsed }: Pick<Clock, "elapsed">,
  {
    ageMsMax,
    sizeMax,
    isKept = () => true,
  }: { ageMsMax: number; sizeMax: number; isKept?: (answer: Answer) => boolean },
) {
  const entries = new Map<Key, { at: number; answer: Promise<Answer> }>();
  return (key: Key, read: () => Promise<Answer>): Promise<Answer> => {
    const found = entries.get(key);
    if (found && elapsed() - found.at < ageMsMax) return found.answer;
    const entry = { at: Number.POSITIVE_INFINITY, answer: read() };
    putNewest(entries, key, entry, sizeMax);
    const forget = () => void (entries.get(key) === entry && entries.delete(key));
    entry.answer.then((answer) => {
      if (!isKept(answer)) return forget();
      entry.at = elapsed();
      setTimeout(forget, ageMsMax).unref();
    }, forget);
    return entry.answer;
  };
}
