// Bytes and text. Nothing here knows a format.

const encoder = new TextEncoder();

/** A text as UTF-8. */
export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}
