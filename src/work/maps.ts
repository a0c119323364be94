// Maps that do not grow without end: numbers that are above nought, and the entries that were put in last.

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
