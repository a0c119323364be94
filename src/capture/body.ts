// A body off the wire, within bounds of bytes and of time. Never looks inside.

import { othersTurn } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { limits } from "../core/limits.ts";

/** Bounds that tests make smaller. */
export interface UploadBounds {
  /** The longest silence, in ms. */
  stallMsMax: number;
  /** The longest upload, in ms. */
  wholeMsMax: number;
}

const usual: UploadBounds = { stallMsMax: limits.uploadStallMsMax, wholeMsMax: limits.uploadMsMax };

/** How long a body its sender announced; NaN when it did not say. */
export function announcedBytes(request: Request): number {
  const header = request.headers.get("content-length");
  return header === null ? Number.NaN : Number(header);
}

/**
 * Receives a request's body, smaller than `bytesMax`. A long one that was announced is laid into `room`, when there
 * is enough of it.
 * @throws Fault payload_too_large (the rest of the body is read and dropped, so that the connection
 *   survives), upload_timeout when the client went away or sent nothing for too long.
 */
export async function receiveBody(
  request: Request,
  bytesMax: number,
  bounds: UploadBounds = usual,
  room?: Uint8Array,
): Promise<Uint8Array> {
  const announced = announcedBytes(request);
  if (announced <= limits.wholeBodyBytesMax && announced < bytesMax) {
    return await receiveWhole(request, announced, bounds);
  }
  if (!request.body) return new Uint8Array(0);
  return await new Upload(request.body, bytesMax, bounds, room).receive(announced);
}

const wholeBytesPerSecond = limits.wholeBodyBytesPerSecondMin;

/**
 * Receives a body of so many announced bytes in one piece: a short one, which is nearly always here already.
 * @throws Fault upload_timeout as receiveBody().
 */
function receiveWhole(request: Request, announced: number, bounds: UploadBounds): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    receiveShort(request, announced, bounds, { arrived: resolve, late: reject });
  });
}

/** Who gets a short body, or is told that it does not come (upload_timeout). */
export interface Receiver {
  arrived(body: Uint8Array): void;
  late(fault: Fault): void;
}

/** The same without a promise: one of the receiver's two is called, once, in a later turn. */
export function receiveShort(
  request: Request,
  announced: number,
  bounds: UploadBounds = usual,
  receiver: Receiver,
): void {
  const msMax = bounds.stallMsMax + (announced / wholeBytesPerSecond) * 1000;
  const wait: Wait = { turns: Math.ceil(msMax / limits.uploadLookMs) + 1, msMax, receiver };
  waiting.add(wait);
  looking ??= setInterval(look, limits.uploadLookMs);
  // What comes or fails after the time is up has had its answer.
  request.bytes().then(
    (body) => waiting.delete(wait) && receiver.arrived(body),
    () => waiting.delete(wait) && receiver.late(gone()),
  );
}

/** A short body that is not here yet. */
interface Wait {
  /** So many more looks, and it is late. */
  turns: number;
  msMax: number;
  receiver: Receiver;
}

/** All of them share one timer, which runs while there are any: most are here before it looks once. */
const waiting = new Set<Wait>();
let looking: ReturnType<typeof setInterval> | undefined;

function look(): void {
  for (const wait of waiting) {
    if (--wait.turns > 0) continue;
    waiting.delete(wait);
    wait.receiver.late(stalled(`${Math.round(wait.msMax)} ms`));
  }
  if (waiting.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}

/** A long or unannounced body, chunk by chunk. */
class Upload {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #bytesMax: number;
  readonly #bounds: UploadBounds;
  readonly #room: Uint8Array | undefined;
  #late: string | undefined;
  #size = 0;

  constructor(
    stream: ReadableStream<Uint8Array>,
    bytesMax: number,
    bounds: UploadBounds,
    room: Uint8Array | undefined,
  ) {
    this.#room = room;
    this.#reader = stream.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#bytesMax = bytesMax;
    this.#bounds = bounds;
  }

  async receive(announced: number): Promise<Uint8Array> {
    const { stallMsMax, wholeMsMax } = this.#bounds;
    const stall = setTimeout(() => this.#cancel(`${stallMsMax} ms`), stallMsMax);
    const whole = setTimeout(() => this.#cancel(`${wholeMsMax} ms in all`), wholeMsMax);
    try {
      // An announced length is believed as far as memory goes: the bytes are laid where they will rest.
      return await this.#read(announced < this.#bytesMax ? this.#roomFor(announced) : undefined, stall);
    } catch (thrown) {
      throw thrown instanceof Fault ? thrown : gone();
    } finally {
      clearTimeout(stall);
      clearTimeout(whole);
    }
  }

  #roomFor(bytes: number): Uint8Array {
    const room = this.#room;
    return room && room.length >= bytes ? room.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes);
  }

  async #read(known: Uint8Array | undefined, stall: NodeJS.Timeout): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let left: number = limits.receiveBytesMax;
    for (;;) {
      // What is not asked for is not received: a sender that keeps up would have all of its body in one turn.
      if (left <= 0) {
        await othersTurn();
        left = limits.receiveBytesMax;
      }
      const { value, done } = await this.#reader.read();
      if (this.#late) throw stalled(this.#late);
      if (done) break;
      stall.refresh();
      if (known && this.#size + value.length <= known.length) known.set(value, this.#size);
      else if (this.#size + value.length < this.#bytesMax) chunks.push(value);
      else chunks.length = 0;
      this.#size += value.length;
      left -= value.length;
      if (this.#size > this.#bytesMax * limits.drainFactor) break;
    }
    if (this.#size >= this.#bytesMax) throw tooLarge(this.#size, this.#bytesMax);
    if (known) return known.subarray(0, this.#size);
    const [only] = chunks;
    return only && chunks.length === 1 ? only : Buffer.concat(chunks, this.#size);
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
