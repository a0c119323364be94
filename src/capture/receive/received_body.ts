// The body of a request, received and unwrapped, and the memory it is in: whoever received it closes it.

import { bytesIn, copyPieces, free, joined } from "../../core/chunks.ts";
import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/memory_budget.ts";
import { type UploadBounds, receiveBody } from "./upload.ts";
import { type Hints, decodeBody } from "../decode/decode.ts";
import { BodyScanner } from "../scan/body_scanner.ts";
import type { IndexOptions } from "../scan/event_index.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import type { ArenaPool } from "./arena_pool.ts";

export interface Receiving {
  request: Request;
  query: URLSearchParams;
  options: { bodyBytesMax: number; uploadBounds?: UploadBounds };
  /** Looks at the first piece of a long body; what it throws ends its reception. */
  first: (piece: Uint8Array) => Promise<void> | undefined;
  /** The body as it came, if it is here already and its memory is counted elsewhere. */
  wire?: Uint8Array | undefined;
  /** What it may become, in bytes; limits.inflatedBytesMax unless told. */
  inflatedBytesMax?: number;
}

export class ReceivedBody {
  bytes: Uint8Array;
  /** What a form around it says of when it was sent. */
  sent_at: string | null = null;
  readonly #arenas: ArenaPool;
  /** The arena that the bytes lie in; undefined for a short body, and when all were in use. */
  #arena: ScanArena | undefined;
  /** Whether the shared arena holds it as one plain event; undefined when nobody has tried. */
  #isSingle: boolean | undefined;

  /** `isSingle`: what ScanArena.single() has just said of it, in the pool's shared arena. */
  constructor(arenas: ArenaPool, bytes: Uint8Array = new Uint8Array(0), isSingle?: boolean) {
    this.#arenas = arenas;
    this.bytes = bytes;
    this.#isSingle = isSingle;
  }

  /**
   * Receives and unwraps a request's body. `lease` then holds it, and what its index is likely to take.
   * @throws Fault as receiveBody() and decodeBody() do.
   */
  async receive(receiving: Receiving, lease: MemoryLease): Promise<void> {
    const { request, query, first, inflatedBytesMax: bytesMax } = receiving;
    const wire = receiving.wire ?? (await this.#wireOf(receiving, lease));
    const wireBytes = lease.bytes;
    const bounds = bytesMax === undefined ? { lease, first } : { lease, first, bytesMax };
    const { pieces, sent_at } = await decodeBody(wire, hintsOf(request, query), bounds);
    if (pieces[0] !== wire) {
      free(wire);
      lease.release(wireBytes);
    }
    this.sent_at = sent_at;
    await this.replace(pieces);
    lease.hold(this.bytes.length + indexBytesFor(this.bytes.length));
  }

  /** Puts other bytes in place of its own, where the fast scan can work on them if they are long. */
  async replace(pieces: readonly Uint8Array[]): Promise<void> {
    const [first = new Uint8Array(0)] = pieces;
    this.#isSingle = undefined;
    const { body } = this.#arena ?? {};
    if (this.#arena && body?.buffer === first.buffer && body.byteOffset === first.byteOffset) {
      this.bytes = this.#arena.close(first.length);
      return;
    }
    const bytes = bytesIn(pieces);
    if (body && body.length < bytes) this.#giveBack();
    const isLong = bytes >= captureLimits.arenaBodyBytesMin;
    if (isLong) this.#arena ??= this.#arenas.take(bytes);
    if (isLong && this.#arena) {
      await copyPieces(pieces, this.#arena.body);
      this.bytes = this.#arena.close(bytes);
    } else this.bytes = await joined(pieces);
  }

  /**
   * A scanner of the body. That of a short one works in memory that other requests use from their next turn on: see
   * EventIndex.isShared.
   */
  scanner(options: IndexOptions = {}): BodyScanner {
    const { bytes } = this;
    if (bytes.length >= captureLimits.arenaBodyBytesMin) {
      const fast = bytes.buffer === this.#arena?.body.buffer ? this.#arena : undefined;
      return new BodyScanner(bytes, { ...options, fast });
    }
    const fast = this.#arenas.short;
    const isSingle = this.#isSingle;
    this.#isSingle = undefined;
    const held = isSingle === undefined ? fast.hold(bytes) : fast.body.subarray(0, bytes.length);
    return new BodyScanner(held, { ...options, fast }, isSingle);
  }

  /** Gives its memory back; `keep`: its bytes are read later, and freed as garbage. */
  close(keep = false): void {
    if (!keep) free(this.bytes);
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#arena) this.#arenas.give(this.#arena);
    this.#arena = undefined;
  }

  /** The `data` of the query if there is any, else the body. */
  async #wireOf({ request, query, options, first }: Receiving, lease: MemoryLease): Promise<Uint8Array> {
    const inQuery = query.get("data");
    if (inQuery) return Buffer.from(inQuery);
    return await receiveBody(request, {
      bytesMax: options.bodyBytesMax,
      lease,
      bounds: options.uploadBounds,
      besideFor: indexBytesFor,
      roomFor: (bytes) => (this.#arena = this.#arenas.take(bytes))?.body,
      first,
    });
  }
}

function hintsOf({ headers }: Request, query: URLSearchParams): Hints {
  return {
    encoding: query.get("data") ? null : headers.get("content-encoding"),
    compression: query.get("compression"),
    contentType: headers.get("content-type"),
  };
}

/** What the index of a long body is likely to take, in bytes: one of tiny events takes more, up to its bound. */
export function indexBytesFor(bodyBytes: number): number {
  if (bodyBytes < captureLimits.arenaBodyBytesMin) return 0;
  return Math.min(limits.indexBytesMax, Math.ceil(bodyBytes / bodyBytesPerIndexByte));
}

/** A usual event has 552 bytes, its entry 176. */
const bodyBytesPerIndexByte = 3;
