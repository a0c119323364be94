// Receives a body, within bounds of bytes and of time.

import { Chunks, free, joined } from "../../core/chunks.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { receiveLimits } from "./limits.ts";
import { type MemoryLease, exhausted } from "../../work/memory_budget.ts";

/** Time limits of an upload; tests make them smaller. */
export interface UploadBounds {
  /** The longest silence, in ms. */
  stallMsMax: number;
  /** The longest upload, in ms. */
  wholeMsMax: number;
}

const usual: UploadBounds = {
  stallMsMax: receiveLimits.uploadStallMsMax,
  wholeMsMax: receiveLimits.uploadMsMax,
};

/** The announced length of a body, in bytes; NaN without a Content-Length. */
export function announcedBytes(request: Request): number {
  const header = request.headers.get("content-length");
  return header === null ? Number.NaN : Number(header);
}

/** How a body is received. */
export interface Receiving {
  /** A body of so many bytes or more is refused. */
  bytesMax: number;
  /** The body's memory is acquired from it before the body is received. */
  lease: MemoryLease;
  bounds?: UploadBounds | undefined;
  /** Memory for a long body of announced length; called when its bytes are acquired. */
  roomFor?: (bytes: number) => Uint8Array | undefined;
  /** Bytes acquired beside those of a body of announced length, for what is made of it later. */
  besideFor?: (bytes: number) => number;
  /** Looks at the first chunk of a long body, before memory is acquired for the rest. */
  first?: (chunk: Uint8Array) => Promise<void> | undefined;
}

/**
 * Receives a request's body. A long one is not read until there is memory for it.
 * @throws Fault payload_too_large, unavailable when there is no memory in time, or what `first` throws (the rest of the
 *   body is read and dropped, so that the connection survives), upload_timeout when the client went away or sent
 *   nothing for too long.
 */
export async function receiveBody(request: Request, receiving: Receiving): Promise<Uint8Array> {
  const announced = announcedBytes(request);
  if (announced <= limits.wholeBodyBytesMax && announced < receiving.bytesMax) {
    receiving.lease.acquire(announced);
    return await new Promise((arrived, refused) => {
      receiveShort(request, announced, receiving.bounds, { arrived, refused, looksLeft: 0, msMax: 0 });
    });
  }
  if (!request.body) return new Uint8Array(0);
  return await new Upload(request.body, receiving).receive(announced);
}

const wholeBytesPerSecond = receiveLimits.wholeBodyBytesPerSecondMin;

/** Receives a short body, or the fault upload_timeout when it does not come. */
export interface Receiver {
  arrived(body: Uint8Array): void;
  refused(fault: Fault): void;
  /** Kept by receiveShort(): the number of looks until the body is late, and the time that is, in ms. */
  looksLeft: number;
  msMax: number;
}

/**
 * Receives a body of `announced` bytes in one piece, without a promise; nearly always it has arrived already. Calls one
 * of the receiver's two methods, once, in a later turn.
 */
export function receiveShort(
  request: Request,
  announced: number,
  bounds: UploadBounds = usual,
  receiver: Receiver,
): void {
  receiver.msMax = bounds.stallMsMax + (announced / wholeBytesPerSecond) * 1000;
  receiver.looksLeft = Math.ceil(receiver.msMax / receiveLimits.uploadLookMs) + 1;
  waiting.add(receiver);
  looking ??= setInterval(look, receiveLimits.uploadLookMs);
  // After the time limit the request was answered already.
  request.bytes().then(
    (body) => waiting.delete(receiver) && receiver.arrived(body),
    () => waiting.delete(receiver) && receiver.refused(gone()),
  );
}

/** Receivers whose body has not arrived. They share one timer, which runs while there are any. */
const waiting = new Set<Receiver>();
let looking: ReturnType<typeof setInterval> | undefined;

function look(): void {
  for (const receiver of waiting) {
    if (--receiver.looksLeft > 0) continue;
    waiting.delete(receiver);
    receiver.refused(stalled(`${Math.round(receiver.msMax)} ms`));
  }
  if (waiting.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}

/** Long bodies that are being received. */
let uploads = 0;

/** Bytes that each of `count` uploads receives in one turn, so that a turn takes no longer when there are many. */
function turnBytesFor(count: number): number {
  return Math.max(receiveLimits.receiveBytesMin, receiveLimits.receiveBytesMax / Math.max(1, count / 2));
}

/** A long or unannounced body, chunk by chunk. */
class Upload {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #receiving: Receiving;
  readonly #bounds: UploadBounds;
  readonly #chunks = new Chunks();
  /** Where the body is put, if its length was announced. */
  #room: Uint8Array | undefined;
  /** Why the rest of it is dropped. */
  #refused: Error | undefined;
  #late: string | undefined;
  #size = 0;

  constructor(stream: ReadableStream<Uint8Array>, receiving: Receiving) {
    this.#reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#receiving = receiving;
    this.#bounds = receiving.bounds ?? usual;
  }

  async receive(announced: number): Promise<Uint8Array> {
    const { stallMsMax, wholeMsMax } = this.#bounds;
    const stall = setTimeout(() => this.#cancel(`${stallMsMax} ms`), stallMsMax);
    const whole = setTimeout(() => this.#cancel(`${wholeMsMax} ms in all`), wholeMsMax);
    uploads++;
    try {
      return await this.#read(announced, stall);
    } catch (thrown) {
      throw thrown === this.#refused || thrown instanceof Fault ? thrown : gone();
    } finally {
      uploads--;
      clearTimeout(stall);
      clearTimeout(whole);
    }
  }

  async #read(announced: number, stall: NodeJS.Timeout): Promise<Uint8Array> {
    const { bytesMax } = this.#receiving;
    let left = turnBytesFor(uploads);
    for (;;) {
      // Only what is read is received; otherwise a fast sender's whole body would arrive in one turn.
      if (left <= 0) {
        await yieldToEventLoop();
        left = turnBytesFor(uploads);
      }
      const { value, done } = await this.#reader.read();
      if (this.#late) throw stalled(this.#late);
      if (done) break;
      stall.refresh();
      if (this.#size === 0) await this.#begin(value, announced);
      // The length is kept: the chunk is freed when it was copied.
      const { length } = value;
      if (this.#refused) free(value);
      else this.#put(value);
      this.#size += length;
      left -= length;
      if (this.#size > bytesMax * limits.drainFactor) break;
    }
    if (this.#size >= bytesMax) throw tooLarge(this.#size, bytesMax);
    if (this.#refused) throw this.#refused;
    return this.#room?.subarray(0, this.#size) ?? (await joined(this.#chunks.take()));
  }

  /** Acquires memory for the announced length, so that the chunks are copied to their final place. */
  async #begin(chunk: Uint8Array, announced: number): Promise<void> {
    const { bytesMax, lease, roomFor, besideFor, first } = this.#receiving;
    try {
      await first?.(chunk);
      if (!(announced < bytesMax)) return;
      await lease.acquireSoon(announced + (besideFor?.(announced) ?? 0));
      this.#room = roomFor?.(announced)?.subarray(0, announced) ?? Buffer.allocUnsafeSlow(announced);
    } catch (thrown) {
      this.#refused = thrown as Error;
    }
  }

  #put(chunk: Uint8Array): void {
    const { bytesMax, lease } = this.#receiving;
    const size = this.#size + chunk.length;
    if (this.#room && size <= this.#room.length) {
      this.#room.set(chunk, this.#size);
      free(chunk);
    } else if (this.#room || size >= bytesMax) this.#drop(tooLarge(size, bytesMax));
    else if (lease.tryAcquire(chunk.length)) this.#chunks.add(chunk);
    else this.#drop(exhausted());
  }

  /** Frees what came; the rest is read only so that the connection survives. */
  #drop(fault: Fault): void {
    this.#refused = fault;
    this.#receiving.lease.release(this.#chunks.size);
    for (const piece of this.#chunks.take()) free(piece);
  }

  #cancel(late: string): void {
    this.#late = late;
    void this.#reader.cancel().catch(() => {});
  }
}

function stalled(waited: string): Fault {
  return new Fault(
    "upload_timeout",
    `The client stopped sending data: the body was not here after ${waited}.`,
  );
}

function gone(): Fault {
  return new Fault("upload_timeout", "The client went away before the body was here.");
}

function tooLarge(size: number, bytesMax: number): Fault {
  return new Fault(
    "payload_too_large",
    `The body must be smaller than ${bytesMax} bytes; ${size} bytes arrived.`,
  );
}
