// The body of a request, received and unwrapped, and the memory it is in, which is reused; its receiver closes it.

import { bytesIn, copyChunks, free, joined } from "../../core/chunks.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { receiveBody, type UploadBounds } from "../../work/bodies/upload.ts";
import { decodeBody } from "../decode/decode.ts";
import { captureLimits } from "../limits.ts";
import { BodyScanner } from "../scan/body_scanner.ts";
import type { EventIndex, IndexOptions } from "../scan/event_index.ts";
import { likelyIndexBytes, ScanArena } from "../wasm/scan_arena.ts";

interface BodySource {
  request: Request;
  query: URLSearchParams;
  options: { bodyBytesMax: number; uploadBounds?: UploadBounds };
  /** Searches the body's first bytes for its owner; what it throws ends its reception. */
  admit: (chunk: Uint8Array) => Promise<void> | undefined;
  /** The body as it was sent, if it has arrived already: the lease has its bytes. */
  wire?: Uint8Array | undefined;
  /** The most bytes that it may inflate to; limits.inflatedBytesMax by default. */
  inflatedBytesMax?: number;
}

export class ReceivedBody {
  bytes: Uint8Array;
  /** `sent_at` of a form around it. */
  sent_at: string | null = null;
  readonly #arenas: ArenaPool;
  /** The arena that the bytes lie in; undefined for a short body, and when all were in use. */
  #arena: ScanArena | undefined;
  /** The result of the shared arena's open() for this body, which it then holds; undefined when it was not called. */
  #opened: number | undefined;
  readonly #openedIn: number;
  #lease: MemoryLease | undefined;
  /** The index of the last scanner, and the copy that it is of, if not of `bytes`. */
  #index: EventIndex | undefined;
  #copy: Uint8Array | undefined;

  constructor(arenas: ArenaPool, bytes: Uint8Array = new Uint8Array(0), opened?: number) {
    this.#arenas = arenas;
    this.bytes = bytes;
    this.#opened = opened;
    this.#openedIn = opened === undefined ? 0 : arenas.short.generation;
  }

  /**
   * Receives and unwraps a request's body. `lease` then has the bytes of the body and an estimate of its index's.
   * @throws Fault as receiveBody() and decodeBody() do.
   */
  async receive(source: BodySource, lease: MemoryLease): Promise<void> {
    const { request, query, admit, inflatedBytesMax: bytesMax } = source;
    this.#lease = lease;
    const wire = source.wire ?? (await this.#readWire(source, lease));
    const wireBytes = lease.bytes;
    const bounds = bytesMax === undefined ? { lease, admit } : { lease, admit, bytesMax };
    const { chunks, sent_at } = await decodeBody(wire, { request, query }, bounds);
    if (chunks[0] !== wire) {
      free(wire);
      lease.release(wireBytes);
    }
    this.sent_at = sent_at;
    await this.replace(chunks);
    lease.resize(this.bytes.length + likelyIndexBytes(this.bytes.length));
  }

  /** Replaces the bytes; long ones are copied into an arena, where the fast scan works. */
  async replace(chunks: readonly Uint8Array[]): Promise<void> {
    const [first = new Uint8Array(0)] = chunks;
    this.#opened = undefined;
    const { body } = this.#arena ?? {};
    if (this.#arena && body?.buffer === first.buffer && body.byteOffset === first.byteOffset) {
      this.bytes = this.#arena.close(first.length);
      return;
    }
    const bytes = bytesIn(chunks);
    if (body && body.length < bytes) this.#release();
    const isLong = bytes >= captureLimits.arenaBodyBytesMin;
    if (isLong && (this.#arena ??= this.#arenas.acquire(bytes))) {
      await copyChunks(chunks, this.#arena.body);
      this.bytes = this.#arena.close(bytes);
    } else this.bytes = await joined(chunks);
  }

  /**
   * A scanner of the body. A short body is scanned in memory that other requests use from their next turn on: see
   * EventIndex.isShared. A repaired copy is released with the body.
   */
  scanner(options: IndexOptions = {}): BodyScanner {
    const { repaired } = options;
    if (repaired) this.#copy = repaired.bytes;
    const bytes = repaired?.bytes ?? this.bytes;
    if (repaired || bytes.length >= captureLimits.arenaBodyBytesMin) {
      const fast = bytes.buffer === this.#arena?.body.buffer ? this.#arena : undefined;
      return this.#replaceIndex(new BodyScanner(bytes, { ...options, lease: this.#lease, fast }));
    }
    const fast = this.#arenas.short;
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened !== undefined) fast.assertHolds(this.#openedIn);
    const copied = opened === undefined ? fast.copy(bytes) : fast.body.subarray(0, bytes.length);
    return this.#replaceIndex(new BodyScanner(copied, { ...options, fast }, opened));
  }

  /** Releases the memory at once: indexes of 7 MB that waited for garbage collection made the server grow by 200 MB. */
  close(): void {
    free(this.bytes);
    if (this.#copy) free(this.#copy);
    this.#index?.free();
    this.#release();
  }

  /** Frees the index of the previous scanner, which is not read any more. */
  #replaceIndex(scanner: BodyScanner): BodyScanner {
    this.#index?.free();
    this.#index = scanner.index;
    return scanner;
  }

  #release(): void {
    if (this.#arena) this.#arenas.release(this.#arena);
    this.#arena = undefined;
  }

  /** The `data` of the query if there is any, else the body. */
  async #readWire({ request, query, options, admit }: BodySource, lease: MemoryLease): Promise<Uint8Array> {
    const inQuery = query.get("data");
    if (inQuery) return Buffer.from(inQuery);
    return await receiveBody(request, {
      bytesMax: options.bodyBytesMax,
      lease,
      bounds: options.uploadBounds,
      extraFor: likelyIndexBytes,
      bufferFor: (bytes) => (this.#arena = this.#arenas.acquire(bytes))?.body,
      admit,
    });
  }
}

/** The pool of arenas: those that wait for the next long body, and how many there may be. */
export class ArenaPool {
  readonly #bodyBytesMax: number;
  readonly #free: ScanArena[] = [];
  #short: ScanArena | undefined;
  #inUse = 0;
  /** The arena for inflated bodies that are longer than usual. */
  #long: ScanArena | undefined;
  #isLongInUse = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param bodyBytesMax the longest usual body, in bytes; for longer ones there is one arena. */
  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** An arena for a body of so many bytes; undefined when all are in use: the body then goes into other memory. */
  acquire(bytes: number): ScanArena | undefined {
    if (bytes > this.#bodyBytesMax) return this.#acquireLong(bytes);
    if (this.#inUse >= captureLimits.arenasMax) return undefined;
    this.#inUse++;
    clearTimeout(this.#timer);
    return this.#free.pop() ?? new ScanArena(this.#bodyBytesMax);
  }

  /** Acquires one at most: each takes 130 MB. */
  #acquireLong(bytes: number): ScanArena | undefined {
    if (this.#isLongInUse) return undefined;
    this.#isLongInUse = true;
    clearTimeout(this.#timer);
    const arena = this.#long;
    this.#long = undefined;
    const isEnough = arena !== undefined && arena.body.length >= bytes;
    return isEnough ? arena : new ScanArena(Math.max(bytes, limits.inflatedBytesMax));
  }

  /** The arena that all short bodies share: a request uses it within one turn, and does not return it. */
  get short(): ScanArena {
    return (this.#short ??= new ScanArena(captureLimits.arenaBodyBytesMin, true));
  }

  release(arena: ScanArena): void {
    if (arena.body.length > this.#bodyBytesMax) {
      this.#isLongInUse = false;
      this.#long = arena;
    } else {
      this.#inUse--;
      this.#free.push(arena);
    }
    this.#freeAfter(captureLimits.arenaIdleMs);
  }

  /**
   * Frees the arenas, one by one. The system gets the memory back when garbage is collected, which a server at rest
   * does not do by itself, so a collection is forced. It takes 5 to 10 ms.
   */
  #freeAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#long) this.#long = undefined;
      else if (!this.#free.pop()) return;
      Bun.gc(true);
      this.#freeAfter(captureLimits.arenaGapMs);
    }, ms);
    this.#timer.unref();
  }
}
