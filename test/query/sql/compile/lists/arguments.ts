// Texts of arguments, made from the table of functions: what each kind takes, and what it must refuse.

import { aggregateNames, sqlAggregate } from "../../../../../src/query/sql/compile/lists/aggregates.ts";
import { functionShapes } from "../../../../../src/query/sql/compile/lists/function_shapes.ts";
import { sqlFunctions } from "../../../../../src/query/sql/compile/lists/functions.ts";
import { countKinds, kindsOf } from "../../../../../src/query/sql/compile/lists/kinds.ts";

/** Each callable name, with the kinds of its arguments. */
export const callables: readonly [name: string, args: string][] = [
  ...[...sqlFunctions].map(([name, { args }]): [string, string] => [name, args]),
  ...Object.entries(functionShapes).map(([name, { args }]): [string, string] => [name, args]),
  ...[...aggregateNames()].map((name): [string, string] => [name, sqlAggregate(name)!.args]),
];

/** A right argument of each kind, as text. */
export const right: Readonly<Record<string, string>> = {
  v: "1",
  z: "'Europe/Berlin'",
  o: "'Europe/Berlin'",
  u: "'day'",
  f: "'%Y-%m'",
  m: "'{}-{0}'",
  r: "'^a+'",
  p: "'$.a[0]'",
  k: "['a', 'b']",
  i: "2",
  n: "3",
  g: "4",
  t: "'Array(Int64)'",
  s: "'text'",
  x: "0.5",
  w: "'strict_order'",
};

/** Kinds whose argument is a name or a program of the engine's: a constant. */
export const named = "zoufmrpkitxw";

const notConstant = ["event", "if(event = 'x', 'UTC', 'day')", "lower('UTC')", "NULL"];
const foreign = ["'file:/proc/self/fd/7'", "'Fixed/UTC-00:01:01'", "''", "'\\\\N'", "1e6"];

/** What an argument of a kind must not be. A pattern, a template and searched texts have any letters. */
export function hostileTo(kind: string): readonly string[] {
  if (!named.includes(kind)) return [];
  if (kind === "k") return notConstant.slice(0, 2);
  if (kind === "f") return [...notConstant, "'%E'", "'%'", `'${"%Y".repeat(101)}'`];
  if (kind === "m") return notConstant;
  if (kind === "r") return [...notConstant, "'((a{10}){100}){100}'"];
  if (kind === "p") return [...notConstant, "'$[0 to 1000000000]'", "'$[0 to 9][0 to 9]'"];
  if (kind === "i" || kind === "x") return [...notConstant, "'1'", "1e99"];
  return [...notConstant, ...foreign];
}

/** `name(…)` with so many arguments, one of them replaced. */
export function callText(
  name: string,
  args: string,
  count: number,
  replaced: Readonly<Record<number, string>> = {},
): string {
  const letters = [...kindsOf(args, count)].slice(0, count);
  return `${name}(${letters.map((letter, i) => replaced[i] ?? right[letter]!).join(", ")})`;
}

/** The numbers of arguments that a line allows, at most one beyond a star. */
export function countsOf(args: string): number[] {
  const { least, most } = countKinds(args);
  const end = Math.min(most, least + 3);
  return Array.from({ length: end - least + 1 }, (_, i) => least + i);
}
