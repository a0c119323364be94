// Answers in RowBinary.

/** The rows of an answer whose columns are texts, as views of its bytes. @throws Error when it ends within a row. */
export function* textRows(answer: Uint8Array, columns: number): Generator<Uint8Array[], void> {
  let at = 0;
  const text = (): Uint8Array => {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = answer[at++] ?? 0;
      length += (byte & 127) * factor;
      if (byte < 128) break;
    }
    if (at + length > answer.length) throw new Error("an answer in RowBinary ends too early");
    return answer.subarray(at, (at += length));
  };
  while (at < answer.length) yield Array.from({ length: columns }, text);
}
