// The lines that a child process prints.

import { embeddedLimits } from "./limits.ts";

/** The lines of a stream; a very long one comes in pieces. */
export async function* childLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "");
    if (rest.length > embeddedLimits.childLineCharsMax) {
      yield rest;
      rest = "";
    }
  }
  if (rest.trim()) yield rest;
}
