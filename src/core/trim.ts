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

/** A moment from ClickHouse, `2024-01-02 03:04:05.600000`, as ISO 8601; a fraction of zero is left out. */
export function isoOfStored(moment: string): string {
  const point = moment.indexOf(".");
  const isZero = point >= 0 && point < moment.length - 1 && withoutLast(moment, "0").length === point + 1;
  return `${(isZero ? moment.slice(0, point) : moment).replace(" ", "T")}Z`;
}
