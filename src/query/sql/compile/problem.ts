// A problem of a query, and its position.

import type { Placed } from "../tree.ts";

/** `start` and `end` count characters (code points) of the text from 0. */
export class SqlProblem extends Error {
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** The SQL filter that has the problem, where it is not in the query's text. */
  filter?: { text: string; attr: string };

  constructor(message: string, at?: Placed) {
    super(message);
    this.start = at?.start?.offset;
    this.end = at?.end?.offset;
  }
}

/** @throws SqlProblem */
export function refuse(message: string, at?: Placed): never {
  throw new SqlProblem(message, at);
}

/** A name of the client's, short enough for a message. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
}

/** Names are compared letter by letter: with so many, of so many letters, in some ms. */
const namesComparedMax = 1000;
const nameComparedCharsMax = 40;

/** ` Did you mean "x"?` when one of the first known names is similar; empty otherwise. */
export function suggestion(name: string, known: Iterable<string>): string {
  if (name.length > nameComparedCharsMax) return "";
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let least = Math.min(wanted.length - 1, Math.max(2, Math.floor(wanted.length / 3))) + 1;
  let compared = 0;
  for (const one of known) {
    if (++compared > namesComparedMax) break;
    if (Math.abs(one.length - wanted.length) >= least) continue;
    const distance = editsBetween(wanted, one.toLowerCase());
    if (distance < least) [best, least] = [one, distance];
  }
  return best === undefined ? "" : ` Did you mean "${best}"?`;
}

/** The number of insertions, deletions and replacements between two texts. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
