// Bytes of long replies that stay in memory until their clients have read them. Asking costs little and not reading
// costs nothing, so that they are bounded for all together and for each owner: where there is no room for another, of
// the owner who holds most the reply ends that was read slowest for its age.

import { type Clock, systemClock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { httpLimits } from "../limits.ts";

/** Who a reply is counted for: a project, or a text for what belongs to none. */
export type ReplyOwner = number | string;

/** One reply, from its first bytes to its last. */
export class HeldReply {
  readonly #room: HeldReplies;
  readonly #began: number;
  readonly #end = new AbortController();
  /** Undefined until it is sent. */
  owner: ReplyOwner | undefined;
  /** What is still in memory of it. */
  bytes = 0;
  #read = 0;

  constructor(room: HeldReplies, began: number) {
    this.#room = room;
    this.#began = began;
  }

  /** Aborts when it is ended for others. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** @throws Fault invalid_input when it gets too long for anybody, unavailable when there is no room for more. */
  add(bytes: number): void {
    this.#room.makeRoom(this, bytes);
    this.bytes += bytes;
  }

  /** From now on it is sent to its owner, and may be ended. @throws Fault unavailable when the owner holds too much. */
  send(owner: ReplyOwner): void {
    this.#room.makeShare(this, owner);
    this.owner = owner;
  }

  /** So many bytes are no longer in memory. */
  free(bytes: number): void {
    this.bytes -= bytes;
    this.#read += bytes;
  }

  /** Bytes in a millisecond that were read of it; undefined while it is too young to be ended. */
  rateAt(now: number): number | undefined {
    const age = now - this.#began;
    return this.owner === undefined || age < httpLimits.heldReplyAgeMsMin ? undefined : this.#read / age;
  }

  end(): void {
    this.close();
    this.#end.abort();
  }

  /** To be called when it was read, or will not be. */
  close(): void {
    this.bytes = 0;
    this.#room.forget(this);
  }
}

export class HeldReplies {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #replies = new Set<HeldReply>();

  constructor(clock: Pick<Clock, "elapsed"> = systemClock) {
    this.#clock = clock;
  }

  /** Bytes of all, or of one owner's. Replies are few: each has more than limits.replySliceBytes. */
  heldBy(owner?: ReplyOwner): number {
    let bytes = 0;
    for (const one of this.#replies) if (owner === undefined || one.owner === owner) bytes += one.bytes;
    return bytes;
  }

  open(): HeldReply {
    const reply = new HeldReply(this, this.#clock.elapsed());
    this.#replies.add(reply);
    return reply;
  }

  /** For replies: see HeldReply.add(). */
  makeRoom(reply: HeldReply, bytes: number): void {
    if (reply.bytes + bytes > httpLimits.heldReplyBytesMax) throw tooLong();
    while (this.heldBy() + bytes > httpLimits.heldRepliesBytesMax) if (!this.#endOne()) throw noRoom();
  }

  /** For replies: see HeldReply.send(). */
  makeShare(reply: HeldReply, owner: ReplyOwner): void {
    const most = httpLimits.heldReplyBytesMax;
    while (this.heldBy(owner) + reply.bytes > most) if (!this.#endOne(owner)) throw noRoom();
  }

  /** For replies: see HeldReply.close(). */
  forget(reply: HeldReply): void {
    this.#replies.delete(reply);
  }

  /** Ends the slowest of this owner, or of the one who holds most; false when none may be ended. */
  #endOne(only?: ReplyOwner): boolean {
    const now = this.#clock.elapsed();
    let found: { reply: HeldReply; held: number; rate: number } | undefined;
    for (const reply of this.#replies) {
      const rate = reply.rateAt(now);
      const { owner } = reply;
      if (rate === undefined || owner === undefined || (only !== undefined && owner !== only)) continue;
      const held = this.heldBy(owner);
      if (!found || held > found.held || (held === found.held && rate < found.rate))
        found = { reply, held, rate };
    }
    found?.reply.end();
    return found !== undefined;
  }
}

function tooLong(): Fault {
  const detail = `The reply would be longer than ${httpLimits.heldReplyBytesMax} bytes. Ask for fewer rows or columns.`;
  return new Fault("invalid_input", detail);
}

function noRoom(): Fault {
  return new Fault("unavailable", "Too many long replies are being read. Please retry.", {
    retryAfterSeconds: httpLimits.heldRetrySeconds,
  });
}

/** Those of this process, whose memory they share. */
export const heldReplies = new HeldReplies();
