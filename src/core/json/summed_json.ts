// Small files of JSON that say by a sum whether they are as they were written.

import { crc32 } from "node:zlib";

/** The object's text with one member more, `sum`: the CRC-32 of its text without that. */
export function summedJson(content: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...content, sum: sumOf(content) });
}

/**
 * The object behind a text, without its sum. One that has none was written by an earlier version.
 * @throws Error that says what is wrong with it.
 */
export function readSummedJson(text: string): Record<string, unknown> {
  if (text.trim() === "") throw new Error("it is empty");
  const read: unknown = JSON.parse(text);
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error("it is no object");
  const { sum, ...content } = read as Record<string, unknown>;
  if (sum !== undefined && sum !== sumOf(content)) throw new Error("its sum is wrong");
  return content;
}

function sumOf(content: Readonly<Record<string, unknown>>): string {
  return crc32(JSON.stringify(content)).toString(16).padStart(8, "0");
}
