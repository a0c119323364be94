// Receives a body, within bounds of bytes, of memory and of time.

import { Chunks, free, joined } from "../../core/chunks.ts";
import { type Polled, yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { uploadLimits } from "./limits.ts";
import { exhausted, type MemoryLease, unknownOwner } from "./memory_budget.ts";

/** Time limits of an upload; tests make them smaller. */
export interface UploadBounds {
  /** The longest silence, in ms. */
  stallMsMax: number;
  /** The longest upload, in ms. */
  wholeMsMax: number;
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
  /** Bytes needed besides those of a body of announced length, for what is made of it later. */
  extraFor?: (bytes: number) => number;
  /** Searches the body's first bytes for its owner; what it throws ends the reception. */
  admit?: (bytes: Uint8Array) => Promise<void> | undefined;
}

/** Receives a short body, or the fault for which there is none. */
export interface Receiver {
  /** Its announced length, in bytes. */
  readonly announced: number;
  readonly lease: MemoryLease;
  onBody(body: Uint8Array): void;
  onFailed(fault: unknown): void;
}

/** The announced length of a body, in bytes; NaN without a Content-Length. */
export function announcedBytes(request: Request): number {
  const header = request.headers.get("content-length");
  return header === null ? Number.NaN : Number(header);
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
  if (!isUnseen || !lease.budget.acquireUnseen(announced)) return await receiveChunks(request, context);
  const body = await new Promise<Uint8Array>((onBody, onFailed) => {
    receiveWhole(request, { announced, lease, onBody, onFailed }, bounds);
  });
  if (!lease.tryAcquire(body.length)) {
    await context.admit?.(body);
    lease.acquire(body.length);
  }
  return body;
}

/**
 * Receives a short body, nearly always in one chunk and without a promise of ours; the receiver acquires its memory
 * with resize(). Calls one of the receiver's two methods, once, in a later turn.
 */
export function receiveShort(request: Request, receiver: Receiver, bounds?: UploadBounds): void {
  const { announced, lease } = receiver;
  if (lease.budget.acquireUnseen(announced)) return receiveWhole(request, receiver, bounds);
  receiveChunks(request, { bytesMax: announced + 1, lease, bounds }).then(
    (body) => receiver.onBody(body),
    (thrown) => receiver.onFailed(thrown),
  );
}

/**
 * Receives a body that acquireUnseen() allowed. Nothing shows how much of it has arrived before all of it has, so that
 * acquireUnseen() bounds how many are received so.
 */
function receiveWhole(request: Request, receiver: Receiver, bounds: UploadBounds = uploadLimits): void {
  const { announced } = receiver;
  const { budget } = receiver.lease;
  const leastMs = (announced * 1000) / uploadLimits.wholeBodyBytesPerSecondMin;
  const msMax = Math.min(bounds.stallMsMax + leastMs, bounds.wholeMsMax);
  let ticksLeft = Math.ceil(msMax / uploadLimits.pollMs) + 1;
  const awaited: Polled = {
    poll: (mayRefuse) => {
      const isLate = --ticksLeft <= 0 && mayRefuse && settle();
      if (isLate) receiver.onFailed(clientStalled(`${Math.round(msMax)} ms`));
      return isLate;
    },
  };
  /** False when it was settled before: after the time limit the request was answered already. */
  const settle = (): boolean => {
    if (!budget.receiving.delete(awaited)) return false;
    budget.releaseUnseen(announced);
    return true;
  };
  budget.receiving.add(awaited);
  request.bytes().then(
    (body) => settle() && receiver.onBody(body),
    () => settle() && receiver.onFailed(clientGone()),
  );
}

async function receiveChunks(request: Request, context: UploadContext): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array(0);
  const announced = announcedBytes(request);
  const body = await new Upload(request.body, announced, context).receive();
  if (!Number.isNaN(announced)) return body;
  await yieldToEventLoop();
  // The runtime, which cannot parse trailers, has answered 400 to what followed the last chunk.
  if (request.signal.aborted) throw clientGone();
  return body;
}

/** A long or unannounced body, or any when many are under way: chunk by chunk. */
class Upload implements Polled {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #announced: number;
  readonly #isLong: boolean;
  readonly #context: UploadContext;
  readonly #bounds: UploadBounds;
  readonly #chunks = new Chunks();
  /** Buffer into which the body is copied once enough of it is here. */
  #buffer: Uint8Array | undefined;
  /** Why the body is refused; what still arrives is dropped. */
  #refusal: unknown;
  /** The refusal when it exceeds a bound of time. */
  #late: Fault | undefined;
  #size = 0;
  /** The size from which its owner is searched for again. */
  #ownerFrom: number = uploadLimits.ownerBytesMin;
  #hasClaimed = false;
  /** Bytes that may be missing yet until its claim ends. */
  #claimCredit = claimCreditMax;
  /** Milliseconds for which nothing has arrived, and how long the upload has taken. */
  #silentMs = 0;
  #totalMs = 0;
  /** Bytes since the last tick. */
  #recentBytes = 0;

  constructor(stream: ReadableStream<Uint8Array>, announced: number, context: UploadContext) {
    this.#reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#announced = announced;
    this.#isLong = announced > limits.wholeBodyBytesMax;
    this.#context = context;
    this.#bounds = context.bounds ?? uploadLimits;
  }

  async receive(): Promise<Uint8Array> {
    const { lease, bytesMax, isCutOff } = this.#context;
    if (this.#announced >= bytesMax) {
      this.#refusal = bodyTooLarge(this.#announced, bytesMax);
      if (isCutOff) throw this.#refusal;
    }
    // When it is ended, the reply does not wait for the rest: the runtime drops what still arrives.
    lease.beginArrival(() => {
      this.#drop(exhausted());
      this.#cancel();
    });
    lease.budget.receiving.add(this);
    try {
      return await this.#read();
    } catch (thrown) {
      throw thrown === this.#refusal || thrown instanceof Fault ? thrown : clientGone();
    } finally {
      lease.budget.receiving.delete(this);
      lease.endArrival();
    }
  }

  /**
   * Ends an upload that is late, and the claim of one that is slow.
   * @param mayEnd whether this tick may end another one; the next tick ends further ones.
   * @returns whether it was late.
   */
  poll(mayEnd: boolean): boolean {
    const { lease } = this.#context;
    this.#totalMs += uploadLimits.pollMs;
    // Meanwhile other bodies may have become old enough to be ended for it.
    if (lease.pausedAt !== undefined) lease.budget.retry();
    else this.#countSilence();
    this.#recentBytes = 0;
    const exceeded = this.#exceededBound();
    if (exceeded === undefined || !mayEnd || this.#late) return false;
    this.#late = clientStalled(exceeded);
    this.#cancel();
    return true;
  }

  #countSilence(): void {
    const { pollMs, claimBytesPerSecondMin } = uploadLimits;
    this.#silentMs += pollMs;
    const credit = this.#claimCredit + this.#recentBytes - (pollMs * claimBytesPerSecondMin) / 1000;
    this.#claimCredit = Math.min(claimCreditMax, credit);
    if (credit < 0) this.#context.lease.unclaim();
  }

  /** The bound of time that it exceeds. The first tick may come at once, and does not count. */
  #exceededBound(): string | undefined {
    const { stallMsMax, wholeMsMax } = this.#bounds;
    if (this.#totalMs - uploadLimits.pollMs > wholeMsMax) return `${wholeMsMax} ms in all`;
    return this.#silentMs - uploadLimits.pollMs > stallMsMax ? `${stallMsMax} ms` : undefined;
  }

  async #read(): Promise<Uint8Array> {
    const { bytesMax, isCutOff = false, lease } = this.#context;
    let bytesLeft = this.#turnBytes();
    for (;;) {
      // Only what is read is received; otherwise a fast sender's whole body would arrive in one turn.
      if (bytesLeft <= 0) {
        await yieldToEventLoop();
        bytesLeft = this.#turnBytes();
      }
      const { value, done } = await this.#reader.read();
      if (this.#late) throw this.#late;
      if (done) break;
      // Read now: a chunk that was copied is freed, and has no length.
      const { length } = value;
      this.#silentMs = 0;
      this.#recentBytes += length;
      lease.arrivedBytes += length;
      if (this.#refusal) free(value);
      else if (!this.#put(value)) await this.#putSoon(value);
      this.#size += length;
      bytesLeft -= length;
      if (!this.#refusal && this.#isDue()) await this.#advance();
      if ((isCutOff && this.#refusal) || this.#size > bytesMax * limits.drainFactor) break;
    }
    if (isCutOff) this.#cancel();
    if (this.#size >= bytesMax) throw bodyTooLarge(this.#size, bytesMax);
    if (this.#refusal) throw this.#refusal;
    return this.#buffer?.subarray(0, this.#size) ?? (await joined(this.#chunks.drain()));
  }

  /** Bytes that it receives in one turn, so that a turn takes no longer when many arrive at once. */
  #turnBytes(): number {
    const { receiveBytesMin, receiveBytesMax } = uploadLimits;
    const { size } = this.#context.lease.budget.arriving;
    return Math.max(receiveBytesMin, (2 * receiveBytesMax) / Math.max(2, size));
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
    const { lease } = this.#context;
    try {
      if (lease.owner === unknownOwner) await this.#admit(this.#size > 0 ? this.#firstBytes() : chunk);
      if (this.#refusal || this.#put(chunk)) return;
      if (!this.#isLong) throw exhausted();
      await lease.waitFor(chunk.length, () => this.#put(chunk));
    } catch (thrown) {
      this.#drop(thrown);
    }
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
    const { lease, extraFor } = this.#context;
    try {
      if (this.#size >= this.#ownerFrom) {
        const isLast = lease.owner !== unknownOwner || this.#size >= uploadLimits.firstChunkBytes;
        this.#ownerFrom = isLast ? Number.POSITIVE_INFINITY : this.#size * uploadLimits.firstChunkGrowth;
        await this.#admit(this.#firstBytes());
      }
      if (this.#refusal || !this.#isLong || this.#buffer) return;
      if (!this.#hasClaimed && this.#size >= uploadLimits.claimBytesMin) {
        this.#hasClaimed = true;
        await lease.claim(this.#announced + (extraFor?.(this.#announced) ?? 0) - this.#size);
        this.#claimCredit = claimCreditMax;
      }
      if (!this.#refusal && this.#size >= limits.wholeBodyBytesMax && lease.claimed > 0) this.#useBuffer();
    } catch (thrown) {
      this.#drop(thrown);
    }
  }

  async #admit(bytes: Uint8Array): Promise<void> {
    const { lease, admit } = this.#context;
    const work = admit?.(bytes);
    if (work) await lease.paused(work);
  }

  /** The bytes that have arrived, at most as many as the owner is searched for in. */
  #firstBytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? this.#chunks.firstBytes(uploadLimits.firstChunkBytes);
  }

  /** From now on chunks are copied into their final memory. */
  #useBuffer(): void {
    const { bufferFor } = this.#context;
    const buffer = bufferFor?.(this.#announced) ?? Buffer.allocUnsafeSlow(this.#announced);
    let at = 0;
    for (const chunk of this.#chunks.drain()) {
      buffer.set(chunk, at);
      at += chunk.length;
      free(chunk);
    }
    this.#buffer = buffer.subarray(0, this.#announced);
  }

  /** Frees what arrived; the rest is read only so that the connection survives. */
  #drop(reason: unknown): void {
    if (this.#refusal) return;
    this.#refusal = reason;
    this.#context.lease.release(this.#size);
    for (const chunk of this.#chunks.drain()) free(chunk);
  }

  #cancel(): void {
    void this.#reader.cancel().catch(() => {});
  }
}

/** Bytes that a body with a claim may bring less than its least rate. */
const claimCreditMax = (uploadLimits.claimBytesPerSecondMin * uploadLimits.endedAgeMsMin) / 1000;

const clientStalled = (waited: string) =>
  new Fault("upload_timeout", `The client stopped sending data: the body was not here after ${waited}.`);

const clientGone = () => new Fault("upload_timeout", "The client left before its body had arrived.");

const bodyTooLarge = (size: number, bytesMax: number) =>
  new Fault("payload_too_large", `The body must be smaller than ${bytesMax} bytes; ${size} bytes arrived.`);
