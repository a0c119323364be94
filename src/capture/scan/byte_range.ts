// A text as bytes somewhere: pointed to, compared, cut. Never copies what it need not.

export interface ByteRange {
  source: Uint8Array;
  from: number;
  to: number;
}

const nothing = new Uint8Array(0);
const decoder = new TextDecoder();
const encoder = new TextEncoder();

export function emptyRange(): ByteRange {
  return { source: nothing, from: 0, to: 0 };
}

export function setText(out: ByteRange, text: string): void {
  out.source = encoder.encode(text);
  out.from = 0;
  out.to = out.source.length;
}

/** True when it was longer. Only as many bytes are looked at as so many characters can have. */
export function cutText(out: ByteRange, charsMax: number): boolean {
  if (out.to - out.from <= charsMax) return false;
  const end = Math.min(out.to, out.from + 4 * (charsMax + 1));
  const characters = [...decoder.decode(out.source.subarray(out.from, end))];
  if (characters.length <= charsMax) return false;
  setText(out, characters.slice(0, charsMax).join(""));
  return true;
}

export function sameBytes(one: ByteRange, other: ByteRange): boolean {
  if (one.to - one.from !== other.to - other.from) return false;
  for (let i = one.to - one.from - 1; i >= 0; i--) {
    if (one.source[one.from + i] !== other.source[other.from + i]) return false;
  }
  return true;
}

export function copyRange(from: ByteRange, to: ByteRange): void {
  to.source = from.source;
  to.from = from.from;
  to.to = from.to;
}

export function rangeText({ source, from, to }: ByteRange): string {
  return decoder.decode(source.subarray(from, to));
}
