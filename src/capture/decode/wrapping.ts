// How a body is wrapped: what the request hints, and what the first bytes show.

import type { Method } from "./inflate.ts";

/** Facts that came with the body. */
export interface Sent {
  request: Pick<Request, "headers">;
  query: URLSearchParams;
}

export type Hint = "br" | "deflate" | "lz";

/** Hints of a request about how its body is wrapped, the outermost layer's first, and whether it announces a form. */
export function readHints({ request: { headers }, query }: Sent): { hints: Hint[]; isForm: boolean } {
  const encoding = query.get("data") ? null : headers.get("content-encoding");
  const type = headers.get("content-type") ?? "";
  return {
    hints: [...hintsIn(encoding).toReversed(), ...hintsIn(query.get("compression"))],
    isForm: type.toLowerCase().startsWith("application/x-www-form-urlencoded"),
  };
}

/** The hints that the bytes do not reveal; gzip, zstd and base64 are recognized by their bytes. */
export function hintsIn(text: string | null | undefined): Hint[] {
  if (!text) return [];
  const hints: Hint[] = [];
  for (const word of text.toLowerCase().split(",")) {
    const name = word.trim();
    if (name === "br" || name === "deflate") hints.push(name);
    else if (name === "lz64" || name === "lz-string") hints.push("lz");
  }
  return hints;
}

export function detectMagic(bytes: Uint8Array): Method | undefined {
  const [a, b, c, d] = bytes;
  if (a === 0x1f && b === 0x8b) return "gzip";
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) return "zstd";
  // The header of zlib; its second byte is never a letter of base64.
  if (a === 0x78 && (b === 0x01 || b === 0x5e || b === 0x9c || b === 0xda)) return "deflate";
  return undefined;
}

/** Whether the bytes may begin with zlib's header (RFC 1950) for a window of any size. */
export function hasZlibHeader([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && method <= 0x78 && ((method << 8) | flags) % 31 === 0;
}

/** Whether a form begins with its `data`. */
export function beginsWithData(bytes: Uint8Array): boolean {
  return (
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 5)).toString("latin1") === "data="
  );
}
