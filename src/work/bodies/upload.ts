// Receives a body, within bounds of bytes, of memory and of time.

import { Chunks, free, joined } from "../../core/chunks.ts";
import { type Polled, yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { bodyTooLarge, clientGone, clientStalled, exhausted } from "./body_faults.ts";
import { uploadLimits } from "./limits.ts";
import type { MemoryBudget, MemoryLease } from "./memory_budget.ts";
import { type Receiver, receiveWhole, type UploadBounds, usualBounds } from "./whole_body.ts";

/** The announced length of a body, in bytes; NaN without a Content-Length. */
export function announcedBytes(request: Request): number {
  const header = request.headers.get("content-length");
  return header === null ? Number.NaN : Number(header);
}

export interface UploadContext {
  /** A body of so many bytes or more is refused. */
  bytesMax: number;
  /** The body's memory is acquired from it as the body arrives. */
  lease: MemoryLease;
  bounds?: UploadBounds | undefined;
  /** Whether a body that is refused is not read to its end. */
  isCutOff?: boolean;
  /** Memory for a long body of announced length; called once a megabyte of it is here. */
  bufferFor?: (bytes: number) => Uint8Array | undefined;
  /** Returns the memory of bufferFor() when its body arrives too slowly for it; its bytes were copied. */
  returnBuffer?: () => void;
  /** Bytes needed besides those of a body of announced length, for what is made of it later. */
  extraFor?: (bytes: number) => number;
  /** Searches the body's first bytes for its owner; what it throws ends the reception. */
  admit?: (bytes: Uint8Array) => Promise<void> | undefined;
}

/**
 * Receives a request's body.
 * @throws Fault payload_too_large, unavailable when there is no memory in time, or what `admit` throws (the rest of the
 * body is read and dropped, so that the connection survives), unavailable at once when the body is ended because it
 * arrives too slowly, upload_timeout when the client left or sent nothing for too long.
 */
export async function receiveBody(request: Request, context: UploadContext): Promise<Uint8Array> {
  const announced = announcedBytes(request);
  const { lease, bytesMax, bounds } = context;
  const isUnseen = announced <= limits.wholeBodyBytesMax && announced < bytesMax;
  if (isUnseen && lease.budget.acquireUnseen(announced)) {
    const body = await new Promise<Uint8Array>((onBody, onFailed) => {
      receiveWhole(request, { announced, onBody, onFailed }, lease.budget, bounds);
    });
    if (!lease.tryAcquire(body.length)) {
      await context.admit?.(body);
      lease.acquire(body.length);
    }
    return body;
  }
  if (!request.body) return nothing;
  const body = await new Upload(request.body, context).receive(announced);
  if (Number.isNaN(announced)) await refuseTrailer(request);
  return body;
}

/** @throws Fault when the runtime, which cannot parse trailers, has answered 400 to what followed the last chunk. */
async function refuseTrailer(request: Request): Promise<void> {
  await yieldToEventLoop();
  if (request.signal.aborted) throw clientGone();
}

const nothing = new Uint8Array(0);

/**
 * Receives a short body, nearly always in one chunk and without a promise; the receiver then acquires its memory. Calls
 * one of the receiver's two methods, once, in a later turn.
 */
export function receiveShort(
  request: Request,
  receiver: Receiver,
  memory: MemoryBudget,
  bounds?: UploadBounds,
): void {
  const { announced } = receiver;
  if (memory.acquireUnseen(announced)) receiveWhole(request, receiver, memory, bounds);
  else receiveChunks(request, receiver, memory.open(announced), bounds);
}

function receiveChunks(
  request: Request,
  receiver: Receiver,
  lease: MemoryLease,
  bounds: UploadBounds | undefined,
): void {
  if (!request.body) return receiver.onBody(nothing);
  const context = { bytesMax: receiver.announced + 1, lease, bounds };
  new Upload(request.body, context).receive(receiver.announced).then(
    (body) => {
      lease.close();
      receiver.onBody(body);
    },
    (thrown) => {
      lease.close();
      receiver.onFailed(thrown);
    },
  );
}

/** A long or unannounced body, or any when many are under way: chunk by chunk. */
class Upload implements Polled {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #context: UploadContext;
  readonly #bounds: UploadBounds;
  readonly #chunks = new Chunks();
  #announced = Number.NaN;
  /** Where the body is copied once enough of it is here; whether that memory is lent, and returned by a slow body. */
  #buffer: Uint8Array | undefined;
  #isLent = false;
  /** Why the body is refused; what still arrives is dropped. */
  #refusal: unknown;
  /** The bound of time that it exceeds. */
  #exceeded: string | undefined;
  #size = 0;
  /** The size from which its owner is searched for again. */
  #ownerFrom: number = uploadLimits.ownerBytesMin;
  #hasClaimed = false;
  /** For how long nothing has arrived, and how long the upload has taken, in ms. */
  #silentMs = 0;
  #totalMs = 0;
  /** Bytes since the last tick. */
  #recentBytes = 0;
  /** Ticks for which it still counts as one of which much arrives. */
  #busyTicks = 0;

  constructor(stream: ReadableStream<Uint8Array>, context: UploadContext) {
    this.#reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#context = context;
    this.#bounds = context.bounds ?? usualBounds;
  }

  async receive(announced: number): Promise<Uint8Array> {
    const { lease, bytesMax, isCutOff } = this.#context;
    this.#announced = announced;
    if (announced >= bytesMax) {
      this.#refusal = bodyTooLarge(announced, bytesMax);
      if (isCutOff) throw this.#refusal;
    }
    lease.beginArrival(() => this.#end());
    lease.budget.receiving.add(this);
    try {
      return await this.#read();
    } catch (thrown) {
      throw thrown === this.#refusal || thrown instanceof Fault ? thrown : clientGone();
    } finally {
      lease.budget.receiving.delete(this);
      if (this.#busyTicks > 0) lease.budget.busyUploads--;
      lease.endArrival();
    }
  }

  /**
   * Ends an upload that is late, and reclaims lent memory from one that is slow.
   * @param mayEnd whether this tick may end another one; the next tick ends further ones.
   * @returns whether it was late.
   */
  poll(mayEnd: boolean): boolean {
    const { lease } = this.#context;
    this.#recentBytes = 0;
    if (this.#busyTicks > 0 && --this.#busyTicks === 0) lease.budget.busyUploads--;
    this.#totalMs += uploadLimits.pollMs;
    if (!lease.isPaused) this.#silentMs += uploadLimits.pollMs;
    if (this.#isLent && lease.lapse()) this.#vacate();
    const exceeded = this.#exceededBound();
    if (exceeded === undefined || !mayEnd || this.#exceeded) return false;
    this.#cancel(exceeded);
    return true;
  }

  /** The bound of time that it exceeds. The first tick may come at once, and does not count. */
  #exceededBound(): string | undefined {
    const { stallMsMax, wholeMsMax } = this.#bounds;
    if (this.#totalMs - uploadLimits.pollMs > wholeMsMax) return `${wholeMsMax} ms in all`;
    return this.#silentMs - uploadLimits.pollMs > stallMsMax ? `${stallMsMax} ms` : undefined;
  }

  async #read(): Promise<Uint8Array> {
    const { bytesMax, isCutOff = false } = this.#context;
    let left = this.#turnBytes();
    for (;;) {
      // Only what is read is received; otherwise a fast sender's whole body would arrive in one turn.
      if (left <= 0) {
        await yieldToEventLoop();
        left = this.#turnBytes();
      }
      const { value, done } = await this.#reader.read();
      if (this.#exceeded) throw clientStalled(this.#exceeded);
      if (done) break;
      // Read now: a chunk that was copied is freed, and has no length.
      const { length } = value;
      this.#count(length);
      if (this.#refusal) free(value);
      else if (!this.#put(value)) await this.#putSoon(value);
      this.#size += length;
      left -= length;
      if (!this.#refusal && this.#isDue()) await this.#advance();
      if ((isCutOff && this.#refusal) || this.#size > bytesMax * limits.drainFactor) break;
    }
    if (isCutOff) this.#reader.cancel().catch(() => {});
    if (this.#size >= bytesMax) throw bodyTooLarge(this.#size, bytesMax);
    if (this.#refusal) throw this.#refusal;
    return this.#buffer?.subarray(0, this.#size) ?? (await joined(this.#chunks.drain()));
  }

  /** Bytes that it receives in one turn, so that a turn takes no longer when many arrive at once. */
  #turnBytes(): number {
    const { receiveBytesMin, receiveBytesMax } = uploadLimits;
    const { busyUploads } = this.#context.lease.budget;
    return Math.max(receiveBytesMin, receiveBytesMax / Math.max(1, busyUploads / 2));
  }

  #count(bytes: number): void {
    const { lease } = this.#context;
    this.#silentMs = 0;
    lease.count(bytes);
    this.#recentBytes += bytes;
    if (this.#recentBytes < uploadLimits.busyBytesMin) return;
    if (this.#busyTicks === 0) lease.budget.busyUploads++;
    this.#busyTicks = 2;
  }

  /** Stores a chunk, or drops it with all others where the body is too large; false when there is no memory for it. */
  #put(chunk: Uint8Array): boolean {
    const { bytesMax, lease } = this.#context;
    const size = this.#size + chunk.length;
    if (size >= bytesMax || size > (this.#buffer?.length ?? size)) this.#drop(bodyTooLarge(size, bytesMax));
    else if (!lease.tryAcquire(chunk.length)) return false;
    else if (this.#buffer) {
      this.#buffer.set(chunk, this.#size);
      free(chunk);
    } else this.#chunks.add(chunk);
    return true;
  }

  /** Puts a chunk that found no memory: its owner may have some, and a long body waits for it. */
  async #putSoon(chunk: Uint8Array): Promise<void> {
    const { lease, admit } = this.#context;
    const { length } = chunk;
    try {
      if (!lease.isOwned) await this.#paused(admit?.(this.#size > 0 ? this.#firstBytes() : chunk));
      if (this.#refusal || this.#put(chunk)) return;
      if (!this.#isLong) throw exhausted();
      await lease.acquireSoon(length);
      lease.release(length);
      if (!this.#refusal && !this.#put(chunk)) throw exhausted();
    } catch (thrown) {
      this.#drop(thrown);
    }
  }

  get #isLong(): boolean {
    return this.#announced > limits.wholeBodyBytesMax;
  }

  /** Whether enough has arrived for the next step of #advance(). */
  #isDue(): boolean {
    if (this.#size === this.#announced && !this.#isLong) return false;
    if (this.#size >= this.#ownerFrom) return true;
    if (!this.#isLong || this.#buffer) return false;
    return this.#size >= (this.#hasClaimed ? limits.wholeBodyBytesMax : uploadLimits.claimBytesMin);
  }

  /** Searches for the owner; claims memory for the rest of a long body; then acquires memory for all of it. */
  async #advance(): Promise<void> {
    const { lease, admit, extraFor } = this.#context;
    try {
      if (this.#size >= this.#ownerFrom) {
        const isLast = lease.isOwned || this.#size >= uploadLimits.firstChunkBytes;
        this.#ownerFrom = isLast ? Number.POSITIVE_INFINITY : this.#size * uploadLimits.firstChunkGrowth;
        await this.#paused(admit?.(this.#firstBytes()));
      }
      if (this.#refusal || !this.#isLong || this.#buffer) return;
      if (!this.#hasClaimed && this.#size >= uploadLimits.claimBytesMin) {
        this.#hasClaimed = true;
        await lease.claim(this.#announced + (extraFor?.(this.#announced) ?? 0) - this.#size);
      }
      if (!this.#refusal && this.#size >= limits.wholeBodyBytesMax && !lease.lapse()) this.#useBuffer();
    } catch (thrown) {
      this.#drop(thrown);
    }
  }

  /** The bytes that have arrived, at most as many as the owner is searched for in. */
  #firstBytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? this.#chunks.firstBytes(uploadLimits.firstChunkBytes);
  }

  /** The sender is not waited for meanwhile. */
  async #paused(work: Promise<void> | undefined): Promise<void> {
    if (!work) return;
    const { lease } = this.#context;
    lease.pause();
    try {
      await work;
    } finally {
      lease.resume();
    }
  }

  /** From now on chunks are copied into their final memory. */
  #useBuffer(): void {
    const { bufferFor } = this.#context;
    const lent = bufferFor?.(this.#announced);
    this.#isLent = lent !== undefined;
    const buffer = (lent ?? Buffer.allocUnsafeSlow(this.#announced)).subarray(0, this.#announced);
    let at = 0;
    for (const chunk of this.#chunks.drain()) {
      buffer.set(chunk, at);
      at += chunk.length;
      free(chunk);
    }
    this.#buffer = buffer;
  }

  /** Returns the lent memory, which others need more: received bytes are copied, further ones are collected. */
  #vacate(): void {
    const { returnBuffer } = this.#context;
    if (!this.#buffer || !returnBuffer) return;
    this.#chunks.add(Buffer.from(this.#buffer.subarray(0, this.#size)));
    this.#buffer = undefined;
    this.#isLent = false;
    // No other memory of its whole length is claimed either.
    this.#hasClaimed = true;
    returnBuffer();
  }

  /** Frees what arrived; the rest is read only so that the connection survives. */
  #drop(reason: unknown): void {
    if (this.#refusal) return;
    this.#refusal = reason;
    this.#context.lease.release(this.#size);
    for (const chunk of this.#chunks.drain()) free(chunk);
  }

  /** Answers now, without waiting for the rest: the runtime drops what still arrives. */
  #end(): void {
    this.#drop(exhausted());
    void this.#reader.cancel().catch(() => {});
  }

  #cancel(exceeded: string): void {
    this.#exceeded = exceeded;
    void this.#reader.cancel().catch(() => {});
  }
}
