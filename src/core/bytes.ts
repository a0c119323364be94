// Bytes and text.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function toBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The bytes [from, to) as a text; what is not UTF-8 is replaced. */
export function decodeText(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to));
}

export function isTextAt(bytes: Uint8Array, from: number, to: number, text: Uint8Array): boolean {
  if (to - from !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text[i]) return false;
  return true;
}

/** Value of each hex digit by its ASCII code; 255 for anything else. */
export const hexValue = new Uint8Array(256).fill(255);
for (let value = 0; value < 16; value++) {
  hexValue[value.toString(16).charCodeAt(0)] = value;
  hexValue[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** Compares as ClickHouse does, by UTF-8 bytes. UTF-16 order differs for surrogate pairs. */
export function byBytes(left: string, right: string): number {
  const end = Math.min(left.length, right.length);
  for (let at = 0; at < end; at++) {
    const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)];
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

const rank = (unit: number) => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
