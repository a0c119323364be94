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

const columns = [
  "event",
  "distinct_id",
  "properties.n",
  "properties.plan",
  "properties.$current_url",
  "timestamp",
];
const more = [
  "toString(uuid)",
  "created_at",
  "properties",
  "person.properties.email",
  "session.$entry_current_url",
];
const literals = [
  "'a'",
  "''",
  "'a,b;c'",
  "1",
  "0",
  "-1",
  "9223372036854775807",
  "0.5",
  "NULL",
  "true",
  "[1, 2]",
];
const lists = [
  "['a', 'b']",
  "(1, 'a')",
  "range(5)",
  "splitByChar(',', event)",
  "now()",
  "interval 1 day",
  "today()",
];
/** They fail, or are long, where a row of another project is read. */
const baits = [
  "intDiv(1, if(distinct_id like 'zqsec%', 0, 1))",
  "repeat('a', if(event > 'z', 1000000000, 2))",
];
const counts = [
  "0",
  "3",
  "-5",
  "1500",
  "10000",
  "1000000000",
  "1e18",
  "length(event)",
  "toInt(properties.n)",
];
const anywhere = [
  "'file:/proc/self/fd/7'",
  "'Fixed/UTC-00:00:07'",
  "'AggregateFunction(sum, UInt64)'",
  "'((a{50}){50}){50}'",
  "repeat('a', 1000000)",
  "arrayMap(y -> repeat('b', 9000), range(9000))",
  "(select event from events limit 1)",
  "event_rows",
];

/** Texts of expressions and statements, the same for a seed. */
export function openTexts(seed: number) {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const value = (depth: number): string =>
    depth > 0 && random() < 0.5
      ? call(depth - 1)
      : pick(pick([columns, columns, more, literals, lists, baits]));
  const argument = (kind: string, depth: number): string => {
    if (random() < 0.03) return pick(anywhere);
    if (random() < 0.06 && hostileTo(kind).length > 0) return pick(hostileTo(kind));
    if ("ngi".includes(kind)) return pick(counts);
    return "vs".includes(kind) ? value(depth) : right[kind]!;
  };
  const call = (depth: number): string => {
    const [name, args] = pick(callables);
    const letters = [...kindsOf(args, pick(countsOf(args)))];
    const list = letters.map((kind, i) =>
      i === 0 && /^(?:array|map)/.test(name) && random() < 0.5
        ? `x -> ${random() < 0.5 ? "x" : value(depth)}`
        : argument(kind, depth),
    );
    return `${name}(${list.join(", ")})`;
  };
  const statements: ((expression: string) => string)[] = [
    (one) => `select ${one} from events limit 5`,
    (one) => `select count() from events where toString(${one}) != ''`,
    (one) => `select toString(${one}) as k, count() from events group by k order by k limit 5`,
    (one) => `select event from events where notEmpty(toString(${one})) order by event limit 1 by event`,
    (one) =>
      `select sum(cityHash64(${one.replaceAll(/\b(?:event|distinct_id)\b/g, "toString(number)")})) from numbers(300000)`,
    (one) => `select ${one.replaceAll(/\bproperties[.$\w]*/g, "key")} from groups limit 5`,
    (one) =>
      `select count() from events e join (select ${one} as k, uuid as id from events) f on e.uuid = f.id`,
  ];
  const expression = (): string => call(random() < 0.6 ? 0 : 2);
  return { expression, statement: () => pick(statements)(expression()) };
}
