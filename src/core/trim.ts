// Ends of texts taken off, in time that grows with the text: an expression like /x+$/ tries each x anew, and looks at
// all that follow it each time.

/** `marks`: the characters that go, e.g. "/" or "-_". */
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
