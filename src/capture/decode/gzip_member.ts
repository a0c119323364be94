// The first member of a gzip body, for bodies with something behind it that is no further member.

import { crc32 } from "node:zlib";

/** Flags of RFC 1952 that add fields to a header. */
const flags = { crc: 2, extra: 4, name: 8, comment: 16 };

/** Where the compressed bytes of a gzip body begin; undefined where it has no whole header. */
export function findGzipContent(bytes: Uint8Array): number | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return undefined;
  const flag = bytes[3]!;
  let at = 10;
  if (flag & flags.extra) at += 2 + bytes[at]! + bytes[at + 1]! * 256;
  for (const text of [flags.name, flags.comment]) {
    if (!(flag & text)) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  if (flag & flags.crc) at += 2;
  return at < bytes.length ? at : undefined;
}

/** Whether these chunks are the body's only member, by its checksum and length, and nothing begins another one. */
export function isOnlyMember(bytes: Uint8Array, chunks: readonly Uint8Array[]): boolean {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(chunks.reduce((sum, chunk) => crc32(chunk, sum), 0));
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  const end = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(trailer) + 8;
  return end > 8 && !(bytes[end] === 0x1f && bytes[end + 1] === 0x8b);
}
