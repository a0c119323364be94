// Small JSON files with a checksum, so that damage shows.

import { crc32 } from "node:zlib";
import { isDictionary } from "./dictionary.ts";

/** The object's text with a further member `sum`, the CRC-32 of the text without it. */
export function summedJson(content: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...content, sum: computeChecksum(content) });
}

/** The object of a text, without its sum. @throws Error that names the problem of the text. */
export function readSummedJson(text: string): Record<string, unknown> {
  if (text.trim() === "") throw new Error("it is empty");
  const read: unknown = JSON.parse(text);
  if (!isDictionary(read)) throw new Error("it is no object");
  const { sum, ...content } = read;
  if (sum !== computeChecksum(content)) throw new Error("its sum is wrong");
  return content;
}

function computeChecksum(content: Readonly<Record<string, unknown>>): string {
  return crc32(JSON.stringify(content)).toString(16).padStart(8, "0");
}
