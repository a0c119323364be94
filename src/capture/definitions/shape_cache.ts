// The shapes of events that a process has read, by project: an event of a known shape has no name to record.

import { definitionLimits } from "./limits.ts";

export class ShapeCaches {
  readonly #shapes = new Map<number, ShapeCache>();

  of(project_id: number): ShapeCache {
    let shapes = this.#shapes.get(project_id);
    if (shapes) return shapes;
    this.#free();
    this.#shapes.set(project_id, (shapes = new ShapeCache()));
    return shapes;
  }

  #free(): void {
    // The sum over all projects is computed only for a new project.
    let bytes = this.#shapes.values().reduce((sum, shape) => sum + shape.bytes, 0);
    for (const [project_id, shapes] of this.#shapes) {
      if (bytes < definitionLimits.shapesBytesMax) return;
      this.#shapes.delete(project_id);
      bytes -= shapes.bytes;
    }
  }
}

/** Slots that are tried for a shape, so that nobody can make a search long. */
const triesMax = 8;
const slotsMin = 256;

/** The shapes of one project: hashes of 64 bits of an event's name and those of its properties. */
export class ShapeCache {
  /** Low and high half of each, in a table of twice as many slots; 0, 0 where a slot is free. */
  #slots = new Uint32Array(slotsMin * 2);
  #count = 0;

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** Whether the shape is known; 0, 0 is no shape, and counts as known. */
  has(low: number, high: number): boolean {
    if (low === 0 && high === 0) return true;
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (low << 1) & mask;
    for (let tries = 0; tries < triesMax; tries++) {
      if (slots[at] === low && slots[at + 1] === high) return true;
      if (slots[at] === 0 && slots[at + 1] === 0) return false;
      at = (at + 2) & mask;
    }
    return false;
  }

  /** Adds a shape that is not known. Past the bound all others are forgotten. */
  add(low: number, high: number): void {
    if (this.#count >= definitionLimits.shapesMax) {
      this.#slots.fill(0);
      this.#count = 0;
    } else if (this.#count >= this.#slots.length >> 2) this.#grow();
    this.#put(low, high);
    this.#count++;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] !== 0 || old[at + 1] !== 0) this.#put(old[at]!, old[at + 1]!);
    }
  }

  /** Puts a shape into a free slot; where none of those tried is free, it replaces the first. */
  #put(low: number, high: number): void {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (low << 1) & mask;
    const first = at;
    for (let tries = 0; tries < triesMax && (slots[at] !== 0 || slots[at + 1] !== 0); tries++)
      at = (at + 2) & mask;
    if (slots[at] !== 0 || slots[at + 1] !== 0) at = first;
    slots[at] = low;
    slots[at + 1] = high;
  }
}
