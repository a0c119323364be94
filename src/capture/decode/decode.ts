// Unwraps a received body until it looks like JSON: forms, base64, compression, in any order, also doubled. The bytes
// count more than the hints, since SDKs and proxies get those wrong.

import { free, joined } from "../../core/chunks.ts";
import { runInTurns } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { MemoryLease } from "../../work/bodies/memory_budget.ts";
import { captureLimits } from "../limits.ts";
import { decodeBase64, looksLikeBase64 } from "./base64.ts";
import { type Form, readForm } from "./form.ts";
import { inflateBytes, inflatedBytesFor, type Method, tooDense, tooLarge } from "./inflate.ts";
import { LzString } from "./lz_string.ts";
import { beginsWithData, detectMagic, hasZlibHeader, hintsIn, readHints, type Sent } from "./wrapping.ts";

interface DecodeBounds {
  /** The size limit of each layer, in bytes; limits.inflatedBytesMax by default. */
  bytesMax?: number;
  /** The lease for all memory used here; that of `chunks` stays acquired. */
  lease: MemoryLease;
  /** Called with the first chunk of a long inflated body that looks like JSON; what it throws ends the decoding. */
  admit?: (chunk: Uint8Array) => Promise<void> | undefined;
}

interface Decoded {
  /** The body, in one or several chunks. */
  chunks: Uint8Array[];
  /** A form's `sent_at` or `_`. */
  sent_at: string | null;
}

/**
 * Removes up to captureLimits.bodyLayersMax layers. A body that cannot be unwrapped is returned as it is; the scan
 * reports its problem. Plain JSON costs nothing, whatever the hints are. The event loop gets a turn between slices.
 * Each layer is freed when the next one is decoded, except `wire`, which the caller owns.
 * @throws Fault payload_too_large past `bytesMax` or the inflation ratio, unavailable when there is no memory,
 * invalid_payload for damaged compression, or what `admit` throws.
 */
export async function decodeBody(wire: Uint8Array, request: Sent, bounds: DecodeBounds): Promise<Decoded> {
  if (looksLikeJson(wire)) return { chunks: [wire], sent_at: null };
  return await new Unwrapping(wire, request, bounds).run();
}

/** The first turn is of one slice: of all bodies that arrive in one turn, each has its first slice in that turn. */
const turnSlices = 8;
const sliceBytes = captureLimits.decodeBytesMax / turnSlices;

/** A body whose layers are removed one after the other. */
class Unwrapping {
  readonly #wire: Uint8Array;
  readonly #hinted: ReturnType<typeof readHints>;
  readonly #bounds: DecodeBounds;
  readonly #lease: MemoryLease;
  readonly #bytesMax: number;
  #sentAt: string | null = null;

  constructor(wire: Uint8Array, request: Sent, bounds: DecodeBounds) {
    this.#wire = wire;
    this.#hinted = readHints(request);
    this.#bounds = bounds;
    this.#lease = bounds.lease;
    this.#bytesMax = bounds.bytesMax ?? limits.inflatedBytesMax;
  }

  async run(): Promise<Decoded> {
    let chunks = [this.#wire];
    for (let layer = 0; layer < captureLimits.bodyLayersMax; layer++) {
      const [first] = chunks;
      if (!first || looksLikeJson(first)) break;
      const body = chunks.length === 1 ? first : await joined(chunks);
      chunks = [body];
      let next: Uint8Array[] | undefined = [];
      try {
        next = await this.#unwrapped(body);
      } finally {
        // The layer is decoded, or its content is damaged.
        if (next && body !== this.#wire) this.#drop(body);
      }
      if (!next) break;
      chunks = next;
    }
    return { chunks, sent_at: this.#sentAt };
  }

  /** The content of the outermost layer; undefined when no layer is recognized. */
  async #unwrapped(body: Uint8Array): Promise<Uint8Array[] | undefined> {
    const magic = detectMagic(body);
    if (magic) return await this.#inflated(magic, body);
    // Without a form's Content-Type the body must begin with its data.
    const form = this.#hinted.isForm || beginsWithData(body) ? await this.#formIn(body, false) : undefined;
    if (form?.data) {
      this.#sentAt ??= form.fields.get("sent_at") ?? form.fields.get("_") ?? null;
      this.#hinted.hints.push(...hintsIn(form.fields.get("compression")));
      return [form.data];
    }
    const byHint = await this.#byHint(body);
    if (byHint) return byHint;
    // Percent-encoded JSON without a form around it.
    const { data } = body[0] === 0x25 ? await this.#formIn(body, true) : {};
    return data ? [data] : await this.#bareBase64(body);
  }

  #inflated(method: Method, body: Uint8Array): Promise<Uint8Array[]> {
    const { admit: admitJson } = this.#bounds;
    const admit = admitJson && ((chunk: Uint8Array) => (looksLikeJson(chunk) ? admitJson(chunk) : undefined));
    const bounds = { bytesMax: this.#bytesMax, wireBytes: this.#wire.length, lease: this.#lease, admit };
    return inflateBytes(method, body, bounds);
  }

  /** Frees a layer that is decoded, or was not one. */
  #drop(bytes: Uint8Array): void {
    this.#lease.release(bytes.length);
    free(bytes, true);
  }

  /** Follows the first hint that fits; each hint is used once. */
  async #byHint(body: Uint8Array): Promise<Uint8Array[] | undefined> {
    const hint = this.#hinted.hints.shift();
    if (!hint) return undefined;
    if (hint === "lz") return (await this.#unpacked(body)) ?? (await this.#byHint(body));
    // Base64 around the compressed bytes is removed first.
    const inner = await this.#fromBase64(body);
    if (inner) {
      this.#hinted.hints.unshift(hint);
      return [inner];
    }
    if (hint === "br") return await this.#inflated("br", body);
    return await this.#inflated(hasZlibHeader(body) ? "deflate" : "deflate-raw", body);
  }

  async #unpacked(body: Uint8Array): Promise<Uint8Array[] | undefined> {
    const dense = inflatedBytesFor(this.#wire.length);
    const isDense = dense < this.#bytesMax;
    const fault = () =>
      isDense ? tooDense(this.#wire.length, dense) : tooLarge(body.length, this.#bytesMax);
    const packed = new LzString(trimmed(body), Math.min(this.#bytesMax, dense), this.#lease, fault);
    const bytes = await runInTurns(packed.decode(sliceBytes), turnSlices);
    if (!bytes || looksLikeJson(bytes)) return bytes && [bytes];
    this.#drop(bytes);
    return undefined;
  }

  async #formIn(body: Uint8Array, isValue: boolean): Promise<Form> {
    this.#lease.acquire(body.length);
    const form = await runInTurns(readForm(body, sliceBytes, isValue), turnSlices);
    this.#lease.release(body.length - (form.data?.length ?? 0));
    return form;
  }

  /** Base64 without a hint, if its content looks like a body; lz-string uses the same letters. */
  async #bareBase64(body: Uint8Array): Promise<Uint8Array[] | undefined> {
    const inner = await this.#fromBase64(body);
    if (!inner) return undefined;
    if (looksLikeJson(inner) || detectMagic(inner) || beginsWithData(inner) || inner[0] === 0x25)
      return [inner];
    if (inner.length >= 4 && looksLikeBase64(inner)) return [inner];
    this.#drop(inner);
    return body.length <= captureLimits.unhintedLzBytesMax ? await this.#unpacked(body) : undefined;
  }

  async #fromBase64(body: Uint8Array): Promise<Uint8Array | undefined> {
    const text = trimmed(body);
    if (!looksLikeBase64(text)) return undefined;
    this.#lease.acquire(text.length);
    const bytes = await runInTurns(decodeBase64(text, sliceBytes), turnSlices);
    this.#lease.release(text.length - (bytes?.length ?? 0));
    return bytes;
  }
}

/** Whether an object or array begins after a byte order mark and some white space. */
export function looksLikeJson(bytes: Uint8Array): boolean {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isBlank(bytes[at]!) && at < captureLimits.blanksBytesMax) at++;
  return bytes[at] === 0x7b || bytes[at] === 0x5b;
}

/** Removes a limited amount of white space around it. */
function trimmed(bytes: Uint8Array): Uint8Array {
  let [from, to] = [0, bytes.length];
  while (from < to && bytes[from]! <= 0x20 && from < captureLimits.blanksBytesMax) from++;
  while (to > from && bytes[to - 1]! <= 0x20 && bytes.length - to < captureLimits.blanksBytesMax) to--;
  return bytes.subarray(from, to);
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
