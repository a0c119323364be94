// Trimming of given characters in linear time: a regular expression like /x+$/ takes quadratic time.

/** `marks`: the characters that are removed, e.g. "/" or "-_". */
export function withoutLast(text: string, marks: string): string {
  let end = text.length;
  while (end > 0 && marks.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}

export function withoutFirst(text: string, marks: string): string {
  let start = 0;
  while (start < text.length && marks.includes(text[start]!)) start++;
  return text.slice(start);
}

export function withoutEnds(text: string, marks: string): string {
  return withoutFirst(withoutLast(text, marks), marks);
}
