// Finds UTF-8 in bytes that may not be, and the surrogates that CESU-8 has in it.

/** The length of the character at `at`, in bytes; 0 when it is not UTF-8. `at` is not ASCII. */
export function soundLength(bytes: Uint8Array, at: number): number {
  const length = lengthBy(bytes[at]!);
  return length > 0 && brokenLength(bytes, at) === length ? length : 0;
}

/** The length of a character with this first byte; 0 when no character has it. */
function lengthBy(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** The length of an incomplete character at `at`, as far as it is valid; at least 1. */
export function brokenLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  const length = lengthBy(lead);
  if (length === 0) return 1;
  // Limits of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF.
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  const second = at + 1 < bytes.length ? bytes[at + 1]! : 0;
  if (second < least || second > most) return 1;
  let sound = 2;
  while (sound < length && at + sound < bytes.length && (bytes[at + sound]! & 0xc0) === 0x80) sound++;
  return sound;
}

/** Whether the three bytes at `at` are a surrogate, as in CESU-8. */
export function isHalf(bytes: Uint8Array, at: number): boolean {
  if (at + 2 >= bytes.length || bytes[at] !== 0xed) return false;
  return (bytes[at + 1]! & 0xe0) === 0xa0 && (bytes[at + 2]! & 0xc0) === 0x80;
}

/** The surrogate at `at`: 0xd800 to 0xdfff. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return 0xd000 | ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f);
}
