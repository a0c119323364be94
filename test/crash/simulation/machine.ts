// The machine on which a simulated server lives: chance from a seed, a virtual clock, and which life of the server is
// the current one. Nothing of an earlier life goes on: its timers and answers are dropped.

import type { SimulatedDisk } from "./disk.ts";

/** Chance from a seed: mulberry32. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0 and less than 1. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  of<One>(all: readonly One[]): One {
    return all[this.below(all.length)]!;
  }
}

/** One run of the server, until it is killed or closed. */
export interface Life {
  isOver: boolean;
}

export interface Timer {
  at: number;
  turn: number;
  act: () => void;
  /** Undefined: of the world, not of a server. */
  life: Life | undefined;
  isOff: boolean;
  unref(): Timer;
}

export class VirtualTime {
  /** Milliseconds since the beginning. */
  now = 0;
  #turn = 0;
  /** A heap: the soonest first, then by turn. */
  readonly #heap: Timer[] = [];

  schedule(ms: number, act: () => void, life: Life | undefined): Timer {
    const at = this.now + Math.max(0, ms);
    const timer: Timer = { at, turn: this.#turn++, act, life, isOff: false, unref: () => timer };
    const heap = this.#heap;
    heap.push(timer);
    for (let i = heap.length - 1; i > 0;) {
      const parent = (i - 1) >> 1;
      if (!isSooner(heap[i]!, heap[parent]!)) break;
      [heap[i], heap[parent]] = [heap[parent]!, heap[i]!];
      i = parent;
    }
    return timer;
  }

  /** The next timer that is on, with the clock set to it; undefined when there is none. */
  next(): Timer | undefined {
    for (let timer = this.#pop(); timer; timer = this.#pop()) {
      if (timer.isOff || timer.life?.isOver) continue;
      this.now = timer.at;
      return timer;
    }
    return undefined;
  }

  #pop(): Timer | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || !last) return first;
    heap[0] = last;
    for (let i = 0; ;) {
      const [left, right] = [i * 2 + 1, i * 2 + 2];
      let least = i;
      if (left < heap.length && isSooner(heap[left]!, heap[least]!)) least = left;
      if (right < heap.length && isSooner(heap[right]!, heap[least]!)) least = right;
      if (least === i) return first;
      [heap[i], heap[least]] = [heap[least]!, heap[i]!];
      i = least;
    }
  }
}

function isSooner(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.turn < other.turn);
}

export interface Machine {
  chance: Chance;
  time: VirtualTime;
  disk: SimulatedDisk;
  life: Life;
  /** Changes when power is lost. */
  bootId: string;
  /** Called when the disk has counted to the call at which the server dies. */
  die(): void;
}

let current: Machine | undefined;

export function setMachine(machine: Machine): void {
  current = machine;
}

export function machine(): Machine {
  if (!current) throw new Error("nothing is simulated");
  return current;
}

/** From now on timers and chance are the machine's; what they were cannot be had back. */
export function takeGlobals(): void {
  const later = (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
    const { time, life } = machine();
    return time.schedule(ms, () => act(...given), life);
  };
  const off = (timer: Timer | undefined): void => {
    if (timer) timer.isOff = true;
  };
  const again = (act: () => void, ms: number): Timer => {
    const { time, life } = machine();
    // The handle stays the same; each round has a timer of its own.
    const handle = time.schedule(Number.POSITIVE_INFINITY, () => {}, life);
    const round = (): void => {
      time.schedule(
        ms,
        () => {
          if (handle.isOff) return;
          act();
          round();
        },
        life,
      );
    };
    round();
    return handle;
  };
  Object.assign(globalThis, {
    setTimeout: later,
    // Of no life: all lives share one queue of turns. What goes on of one that is over finds no files.
    setImmediate: (act: () => void) => machine().time.schedule(0, act, undefined),
    setInterval: again,
    clearTimeout: off,
    clearInterval: off,
    clearImmediate: off,
  });
  Math.random = () => machine().chance.next();
}
