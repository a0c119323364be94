// Lists of words that are written as one text.

/** The words of a text, in their order. */
export function wordsIn(text: string): string[] {
  return text.trim().split(/\s+/);
}
