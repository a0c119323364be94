// Texts of arguments, made from the table of functions: what each kind takes, and what it must refuse.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { aggregateNames, sqlAggregate } from "../../../../../src/query/sql/compile/lists/aggregates.ts";
import { functionShapes } from "../../../../../src/query/sql/compile/lists/function_shapes.ts";
import { sqlFunctions } from "../../../../../src/query/sql/compile/lists/functions.ts";
import { chooseKinds, countKinds } from "../../../../../src/query/sql/compile/lists/kinds.ts";

/** Each callable name, with the kinds of its arguments. */
export const callables: readonly [name: string, args: string][] = [
  ...[...sqlFunctions].map(([name, { args }]): [string, string] => [name, args]),
  ...Object.entries(functionShapes).map(([name, { args }]): [string, string] => [name, args]),
  ...[...aggregateNames()].map((name): [string, string] => [name, sqlAggregate(name)!.args]),
];

/** A right argument of each kind, as text. */
export const right: Readonly<Record<string, string>> = {
  v: "1",
  j: "properties",
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
  const letters = [...chooseKinds(args, count)].slice(0, count);
  return `${name}(${letters.map((letter, i) => replaced[i] ?? right[letter]!).join(", ")})`;
}

/** The numbers of arguments that a line allows, at most one beyond a star. */
export function countsOf(args: string): number[] {
  const { least, most } = countKinds(args);
  const end = Math.min(most, least + 3);
  return Array.from({ length: end - least + 1 }, (_, i) => least + i);
}

/** Arguments of which each callable makes something, by their number: a letter for each of kind v, j or s. */
const signatures = new Map<string, { count: number; types: string }[]>();
for (const line of readFileSync(
  join(import.meta.dir, "../../../../fixtures/hogql/signatures.txt"),
  "utf8",
).split("\n")) {
  const [, count, types = "", names = ""] = /^(\d+) (\S*): (.*)$/.exec(line) ?? [];
  for (const name of names.split(" ")) {
    signatures.set(name, [...(signatures.get(name) ?? []), { count: Number(count), types }]);
  }
}

const baitOf = (text: string) => ({
  n: [`intDiv(1, if(${text} like 'zqsec%', 0, 1))`],
  s: [`repeat('a', if(${text} > 'z', 1000000000, 2))`],
});

/** What a text reads, and its values by type: those of another project fail or are long. */
const sources: readonly { from: string; values: Readonly<Record<string, readonly string[]>> }[] = [
  {
    from: "events",
    values: {
      s: ["event", "distinct_id", "properties.plan", "person.properties.email", "session.$entry_current_url"],
      n: ["properties.n", "length(event)", ...baitOf("distinct_id").n],
      d: ["timestamp", "created_at"],
      a: ["splitByChar(' ', distinct_id)", "JSONExtractKeys(properties)"],
      u: ["uuid", "person_id"],
    },
  },
  {
    from: "events",
    values: {
      s: ["toString(uuid)", "properties", "properties.$current_url", ...baitOf("event").s],
      n: ["toInt(properties.n)", "length(distinct_id)"],
      b: ["event = 'seen'", "properties.n > 3"],
    },
  },
  {
    from: "persons",
    values: {
      s: ["toString(id)", "properties.email", ...baitOf("toString(properties)").s],
      n: ["length(distinct_ids)", ...baitOf("toString(properties)").n],
      d: ["created_at"],
      a: ["distinct_ids"],
      b: ["is_identified"],
      u: ["id"],
    },
  },
  {
    from: "groups",
    values: {
      s: ["key", "properties.name", ...baitOf("key").s],
      n: ["index", "length(key)", ...baitOf("key").n],
      d: ["created_at", "updated_at"],
    },
  },
  {
    from: "sessions",
    values: {
      s: ["session_id", "$entry_current_url", ...baitOf("session_id").s],
      n: ["$pageview_count", "$session_duration", ...baitOf("distinct_id").n],
      d: ["$start_timestamp"],
      b: ["$is_bounce"],
    },
  },
  {
    from: "session_recordings",
    values: {
      s: ["session_id", "start_url", ...baitOf("session_id").s],
      n: ["click_count", "duration", ...baitOf("session_id").n],
      d: ["start_time"],
    },
  },
  {
    from: "ingestion_warnings",
    values: {
      s: ["type", "event", "details", ...baitOf("distinct_id").s],
      n: ["count", ...baitOf("event").n],
      d: ["timestamp"],
    },
  },
  {
    from: "person_distinct_ids",
    values: {
      s: ["distinct_id", ...baitOf("distinct_id").s],
      n: ["version", ...baitOf("distinct_id").n],
      d: ["created_at"],
      u: ["person_id"],
    },
  },
  { from: "numbers(300000)", values: { s: ["toString(number)"], n: ["number", "number % 7"], d: ["now()"] } },
];

const literals: Readonly<Record<string, readonly string[]>> = {
  n: ["1", "0", "-1", "9223372036854775807", "0.5", "NULL"],
  s: ["'a'", "''", "'a,b;c'", "'{\"a\":[1]}'", "'https://u@example.com/a?b=c#d'"],
  d: ["now()", "toDateTime('2026-01-02 03:04:05')"],
  a: ["['a', 'b']", "splitByChar(',', 'a,b')"],
  N: ["[1, 2]", "range(5)"],
  A: ["[[1], [2]]"],
  b: ["true", "1 = 2"],
  t: ["(1, 'a')"],
  m: ["map('a', 1)"],
  u: ["toUUID('0198a8f2-0000-7000-8000-000000000001')"],
  i: ["interval 1 day"],
  // Constants of which something is required.
  c: ["2", "1"],
  q: ["','", "' '"],
  k: ["'10.0.0.1'"],
  r: ["'10.0.0.0/8'"],
  e: ["'YQ=='"],
  f: ["toFixedString('0123456789abcdef', 16)"],
  S: ["sumState(1)"],
  o: ["0.5"],
};
const lambdas: Readonly<Record<string, string>> = {
  l: "x -> ",
  p: "x -> x > ",
  L: "(k, v) -> ",
  P: "(k, v) -> v > ",
};
/** The type of a call, as an argument. */
const typeLetters: Readonly<Record<string, string>> = {
  string: "s",
  number: "n",
  datetime: "d",
  boolean: "b",
  array: "a",
};
const counts = ["0", "3", "5", "100", "1000"];
/** What an argument of any kind may be all the same: names of the engine's, texts that multiply, other tables. */
const anywhere = [
  "'file:/proc/self/fd/7'",
  "'Fixed/UTC-00:00:07'",
  "'AggregateFunction(sum, UInt64)'",
  "'((a{50}){50}){50}'",
  "repeat('a', 1000000)",
  "arrayMap(y -> repeat('b', 9000), range(9000))",
  "(select event from events limit 1)",
  "event_rows",
  "1e18",
  "10000",
  "-5",
  "length(event)",
  "NULL",
  "x -> x",
];
const suffixes = ["", "", "", "If", "OrNull", "Distinct"];
const windowsOnly =
  /^(?:row_number|rank|dense_?rank|percent_rank|ntile|cume_dist|lag|lead|laginframe|leadinframe|nth_value)$/;

/** Texts of expressions and statements, the same for a seed. */
export function openTexts(seed: number) {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const isAggregate = (name: string): boolean => sqlAggregate(name) !== undefined || name.endsWith("_agg");
  const aggregates = callables.filter(([name]) => isAggregate(name) && !sqlFunctions.has(name));
  const functions = callables.filter(([name]) => !isAggregate(name) && !windowsOnly.test(name));
  const windows = callables.filter(([name]) => windowsOnly.test(name));
  const makersOf = Map.groupBy(functions, ([name]) => typeLetters[sqlFunctions.get(name)?.type ?? ""]);
  /** An expression over one source. */
  const over = (values: (typeof sources)[number]["values"]) => {
    const value = (type: string, depth: number): string => {
      if (random() < 0.05) return pick(anywhere);
      if (lambdas[type])
        return lambdas[type] + (/[pP]/.test(type) ? "1" : pick(type === "l" ? ["x"] : ["(k, v)"]));
      const makers = makersOf.get(type);
      if (makers && depth > 0 && random() < 0.6) return call(pick(makers), depth - 1);
      return pick(values[type] && random() < 0.7 ? values[type] : literals[type]!);
    };
    const call = ([name, args]: readonly [string, string], depth: number): string => {
      const { count, types } = pick(signatures.get(name) ?? [{ count: countsOf(args)[0]!, types: "" }]);
      const letters = [...chooseKinds(args, count)].slice(0, count);
      let free = 0;
      const list = letters.map((kind) => {
        if ("vjs".includes(kind)) return value(types[free++] ?? "s", depth);
        if (random() < 0.1) return pick([...anywhere, ...hostileTo(kind)]);
        return "ng".includes(kind) ? pick(counts) : right[kind]!;
      });
      const params = sqlFunctions.has(name) ? undefined : sqlAggregate(name)?.params;
      const parameter = params && (/^(?:quant|median)/.test(name) ? "(0.5)" : "(3)");
      const suffix = sqlAggregate(name) && !sqlFunctions.has(name) ? pick(suffixes) : "";
      if (suffix === "If") list.push(value("b", depth));
      return `${name}${suffix}${parameter ?? ""}(${list.join(", ")})`;
    };
    return call;
  };
  const expression = (from = sources[0]!): string => over(from.values)(pick(functions), pick([0, 1, 2]));
  const statements: ((from: (typeof sources)[number]) => string)[] = [
    (from) => `select ${expression(from)} from ${from.from} limit 5`,
    (from) => `select count() from ${from.from} where toString(${expression(from)}) != ''`,
    (from) =>
      `select toString(${expression(from)}) as k, count() from ${from.from} group by k order by k limit 5`,
    (from) =>
      `select 1 from ${from.from} where notEmpty(toString(${expression(from)})) limit 1 by ${from.values["s"]![0]}`,
    (from) => `select sum(cityHash64(${expression(from)})) from ${from.from}`,
    (from) => `select ${over(from.values)(pick(aggregates), 1)} from ${from.from}`,
    (from) =>
      `select ${from.values["s"]![0]} as k, ${over(from.values)(pick(aggregates), 1)} from ${from.from} group by k`,
    (from) =>
      `select ${over(from.values)(pick(windows), 1)} over (order by ${from.values["s"]![0]}) from ${from.from}`,
    () =>
      `select count() from events e join (select ${expression()} as k, uuid as id from events) f on e.uuid = f.id`,
  ];
  return { expression: () => expression(), statement: () => pick(statements)(pick(sources)) };
}
