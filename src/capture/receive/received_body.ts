// The body of a request on its way to the scan: received, unwrapped, and laid where the fast scan can work on it. Never
// looks inside it.

import { bytesIn, copyPieces, free, joined } from "../../core/chunks.ts";
import { captureLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/memory_budget.ts";
import { type UploadBounds, receiveBody } from "./upload.ts";
import { type Hints, decodeBody } from "../decode/decode.ts";
import type { ScanArena } from "../wasm/scan_arena.ts";
import type { ArenaPool } from "./arena_pool.ts";

/** Where a body is kept: in an arena, if it is worth one and there is one. */
export interface BodyMemory {
  arenas: ArenaPool;
  arena: ScanArena | undefined;
  lease: MemoryLease;
}

export interface Arriving {
  request: Request;
  query: URLSearchParams;
  options: { bodyBytesMax: number; uploadBounds?: UploadBounds };
  place: BodyMemory;
  /** Looks at the first piece of a long body; what it throws ends its reception. */
  first: (piece: Uint8Array) => Promise<void> | undefined;
  /** The body as it came, if it is here already and its memory is counted elsewhere. */
  whole?: Uint8Array | undefined;
  /** What it may become, in bytes; limits.inflatedBytesMax unless told. */
  inflatedBytesMax?: number;
}

/**
 * The unwrapped body, and what a form around it says of when it was sent. The lease of `place` holds it, and what its
 * index is likely to take.
 * @throws Fault as receiveBody() and decodeBody() do.
 */
export async function arrive(arriving: Arriving): Promise<{ body: Uint8Array; sent_at: string | null }> {
  const { request, query, place, first, inflatedBytesMax: bytesMax } = arriving;
  const { lease } = place;
  const wire = arriving.whole ?? (await wireOf(arriving));
  const wireBytes = lease.bytes;
  const bounds = bytesMax === undefined ? { lease, first } : { lease, first, bytesMax };
  const { pieces, sent_at } = await decodeBody(wire, hintsOf(request, query), bounds);
  if (pieces[0] !== wire) {
    free(wire);
    lease.release(wireBytes);
  }
  const body = await inArena(pieces, place);
  lease.hold(body.length + indexBytesFor(body.length));
  return { body, sent_at };
}

/** The `data` of the query if there is any, else the body. */
async function wireOf({ request, query, options, place, first }: Arriving): Promise<Uint8Array> {
  const inQuery = query.get("data");
  if (inQuery) return Buffer.from(inQuery);
  return await receiveBody(request, {
    bytesMax: options.bodyBytesMax,
    lease: place.lease,
    bounds: options.uploadBounds,
    besideFor: indexBytesFor,
    roomFor: (bytes) => (place.arena = place.arenas.take(bytes))?.body,
    first,
  });
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

/** The body where the fast scan can work on it: copied there, unless it is there or too short for that. */
export async function inArena(pieces: readonly Uint8Array[], place: BodyMemory): Promise<Uint8Array> {
  const [first = new Uint8Array(0)] = pieces;
  if (place.arena?.body.buffer === first.buffer && place.arena.body.byteOffset === first.byteOffset) {
    return place.arena.close(first.length);
  }
  const bytes = bytesIn(pieces);
  if (place.arena && place.arena.body.length < bytes) {
    place.arenas.give(place.arena);
    place.arena = undefined;
  }
  const isLong = bytes >= captureLimits.arenaBodyBytesMin;
  if (isLong) place.arena ??= place.arenas.take(bytes);
  if (!isLong || !place.arena) return await joined(pieces);
  await copyPieces(pieces, place.arena.body);
  return place.arena.close(bytes);
}
