// Bytes of long replies that stay in memory until their clients have read them. A client that does not read costs
// memory, so they are bounded in all and for each owner: where there is no memory for another, the owner with most
// bytes loses the reply that was read most slowly.

import { type Clock, systemClock } from "../../core/clock.ts";
import { Fault, unavailable } from "../../core/fault.ts";
import type { Owner } from "../../work/fair_share.ts";
import { Tally } from "../../work/maps.ts";
import { httpLimits } from "../limits.ts";

/** One reply, from its first bytes to its last. */
export class HeldReply {
  readonly #all: HeldReplies;
  readonly #began: number;
  readonly #end = new AbortController();
  /** Undefined until it is sent. */
  owner: Owner | undefined;
  /** Its bytes that are still in memory. */
  bytes = 0;
  #read = 0;

  constructor(all: HeldReplies, began: number) {
    this.#all = all;
    this.#began = began;
  }

  /** Aborts when it is ended to free memory. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** @throws Fault invalid_input when it is too long for any client, unavailable when there is no memory for more. */
  add(bytes: number): void {
    if (this.bytes + bytes > httpLimits.heldReplyBytesMax) throw tooLong();
    this.#all.endSome(this.#all.heldBy() + bytes - httpLimits.heldRepliesBytesMax);
    this.#change(bytes);
  }

  /** From now on it is sent to its owner, and may be ended. @throws Fault unavailable when the owner holds too much. */
  send(owner: Owner): void {
    this.#all.endSome(this.#all.heldBy(owner) + this.bytes - httpLimits.heldReplyBytesMax, owner);
    this.owner = owner;
    this.#all.bytesOf.add(owner, this.bytes);
  }

  free(bytes: number): void {
    this.#change(-bytes);
    this.#read += bytes;
  }

  /** Bytes of it read in a millisecond; undefined while it is too young to be ended. */
  rateAt(now: number): number | undefined {
    const age = now - this.#began;
    return this.owner === undefined || age < httpLimits.heldReplyAgeMsMin ? undefined : this.#read / age;
  }

  end(): void {
    this.close();
    this.#end.abort();
  }

  /** Must be called when it was read to its end, or will not be. */
  close(): void {
    this.#change(-this.bytes);
    this.#all.replies.delete(this);
  }

  #change(bytes: number): void {
    this.bytes += bytes;
    this.#all.bytes += bytes;
    if (this.owner !== undefined) this.#all.bytesOf.add(this.owner, bytes);
  }
}

export class HeldReplies {
  readonly #clock: Pick<Clock, "elapsed">;
  /** Changed by the replies, as the others are. */
  bytes = 0;
  readonly bytesOf = new Tally<Owner>();
  readonly replies = new Set<HeldReply>();

  constructor(clock: Pick<Clock, "elapsed"> = systemClock) {
    this.#clock = clock;
  }

  heldBy(owner?: Owner): number {
    return owner === undefined ? this.bytes : this.bytesOf.of(owner);
  }

  open(): HeldReply {
    const reply = new HeldReply(this, this.#clock.elapsed());
    this.replies.add(reply);
    return reply;
  }

  /**
   * Ends replies of this owner, or of the owner with most bytes at each step, the slowest first, until so many bytes,
   * if any, are free.
   * @throws Fault unavailable when too few may be ended.
   */
  endSome(bytes: number, only?: Owner): void {
    if (bytes <= 0) return;
    const now = this.#clock.elapsed();
    const slow = [...this.replies]
      .map((reply) => ({ reply, owner: reply.owner!, rate: reply.rateAt(now)! }))
      .filter(({ owner, rate }) => rate !== undefined && (only === undefined || owner === only))
      .toSorted((a, b) => b.rate - a.rate);
    const byOwner = Map.groupBy(slow, ({ owner }) => owner);
    const end = this.bytes - bytes;
    while (this.bytes > end) {
      if (byOwner.size === 0) throw tooManyHeld();
      const most = byOwner.keys().reduce((a, b) => (this.heldBy(b) > this.heldBy(a) ? b : a));
      const replies = byOwner.get(most)!;
      replies.pop()!.reply.end();
      if (replies.length === 0) byOwner.delete(most);
    }
  }
}

function tooLong(): Fault {
  const detail = `The reply would be longer than ${httpLimits.heldReplyBytesMax} bytes. Ask for fewer rows or columns.`;
  return new Fault("invalid_input", detail);
}

const tooManyHeld = () =>
  unavailable("Too many long replies are being read. Please retry.", httpLimits.heldRetrySeconds);

/** The replies of this process, whose memory they share. */
export const heldReplies = new HeldReplies();
