// Bytes and text.

const encoder = new TextEncoder();

/** A text as UTF-8. */
export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Whether the bytes [from, to) equal `text`. */
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
