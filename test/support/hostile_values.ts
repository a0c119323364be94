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

/** JSON of about so many bytes, by name: what a body may be at all (its members and depth are bounded before). */
export function hostileJson(bytes: number): Record<string, string> {
  const many = (one: string, most = Infinity) =>
    Array<string>(Math.min(most, Math.floor(bytes / (one.length + 1))))
      .fill(one)
      .join(",");
  const condition = '{"key":"a","value":"b","operator":"exact","type":"event"}';
  const deep = (open: string, inner: string, close: string, levels = 200) =>
    `${open.repeat(levels)}${inner}${close.repeat(levels)}`;
  return {
    numbers: `[${many("0")}]`,
    texts: `[${many('"a"')}]`,
    lists: `[${many("[]", 19_000)}]`,
    members: `{${Array.from({ length: 19_000 }, (_, i) => `"m${i}":0`).join(",")}}`,
    filters: `[${many(condition, 3800)}]`,
    "groups in groups": deep('{"type":"AND","values":[', many(condition, 3000), "]}"),
    "lists in lists": deep("[", many("0"), "]"),
    "a long name": `{"${filled("a ", bytes - 10)}":1}`,
    "a long text": JSON.stringify(hostileTexts(bytes)["runs of all"]),
  };
}
