// Values that cost the most where a field's checks are not held to its length: a megabyte, or as much of it as asked.

import { filled } from "./growth.ts";

/** What expressions and loops stumble on: runs of one kind between letters. */
const runs = [
  " ",
  "_",
  "/",
  "-",
  ".",
  "0",
  "{",
  "\\",
  '"',
  "(",
  "a@",
  ",",
  "é",
  "😀",
  "\u2003",
  "'",
  "/*",
  "=",
  "[",
  "a.",
];

/** Texts of so many characters, by name. */
export function hostileTexts(chars: number): Record<string, string> {
  const texts = Object.fromEntries(runs.map((run) => [`a run of ${run}`, `a${filled(run, chars - 2)}b`]));
  texts["blanks alone"] = filled(" ", chars);
  texts["runs of all"] = runs.map((run) => `a${filled(run, Math.floor(chars / runs.length) - 2)}b`).join("");
  return texts;
}

const condition = '{"key":"a","value":"b","operator":"exact","type":"event"}';

/** So many bytes of it, with commas between, or fewer where `most` is less. */
function many(bytes: number, one: string, most = Infinity): string {
  const count = Math.min(most, Math.floor(bytes / (one.length + 1)));
  return `${one},`.repeat(count).slice(0, -1);
}

function deep(open: string, inner: string, close: string, levels = 200): string {
  return `${open.repeat(levels)}${inner}${close.repeat(levels)}`;
}

/** JSON of about so many bytes, by name: what a body may be at all (its members and depth are bounded before). */
export const hostileJson: Readonly<Record<string, (bytes: number) => string>> = {
  numbers: (bytes) => `[${many(bytes, "0")}]`,
  texts: (bytes) => `[${many(bytes, '"a"')}]`,
  lists: (bytes) => `[${many(bytes, "[]", 19_000)}]`,
  members: () => `{${Array.from({ length: 19_000 }, (_, i) => `"m${i}":0`).join(",")}}`,
  filters: (bytes) => `[${many(bytes, condition, 3800)}]`,
  "groups in groups": (bytes) => deep('{"type":"AND","values":[', many(bytes, condition, 3000), "]}"),
  "lists in lists": (bytes) => deep("[", many(bytes, "0"), "]"),
  "a long name": (bytes) => `{"${filled("a ", bytes - 10)}":1}`,
  "a long text": (bytes) => JSON.stringify(hostileTexts(bytes)["runs of all"]),
};
