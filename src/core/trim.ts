// Texts made shorter. Trimming takes linear time: a regular expression like /x+$/ takes quadratic time.

/** `chars`: the characters that are removed, e.g. "/" or "-_". */
export function withoutLast(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}

export function withoutFirst(text: string, chars: string): string {
  let start = 0;
  while (start < text.length && chars.includes(text[start]!)) start++;
  return text.slice(start);
}

export function withoutEnds(text: string, chars: string): string {
  return withoutFirst(withoutLast(text, chars), chars);
}

/** Removes blanks at its ends, as Python finds them: not the byte order mark, but the separators of ASCII. */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f);
  return code === 0x85 || (code !== 0xfeff && text[at]!.trim() === "");
}

/** A text of at most so many characters (code points); a cut one ends with "…". */
export function trimToChars(text: string, charsMax: number): string {
  // A long text is not made an array: a character has at most two units.
  const characters = Array.from(text.slice(0, 2 * charsMax + 2));
  return characters.length > charsMax ? `${characters.slice(0, charsMax - 1).join("")}…` : text;
}
