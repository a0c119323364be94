// What an expression takes for one row, estimated before it is sent: the engine looks at its bounds between two blocks
// only.

import { countSteps } from "../../../../storage/events/pattern_steps.ts";
import type { ExpressionNode } from "../../tree.ts";
import type { Cost, Sql } from "../value.ts";
import { sqlFunction } from "./functions.ts";
import { kindsOf } from "./kinds.ts";
import { functionLimits } from "./limits.ts";

/** Up to so many characters a call costs no more than any other. */
const freeChars = 64;
/** Characters of a text that is not known. */
const textChars = 8;
/** Items of an array of unknown length: for steps, whose memory is bounded; and for chars, which take none. */
const itemsUsual = 20;
const itemsMost = 10_000;
/** A character of a pattern that is compiled for each row, and a step that a repetition adds to one, in characters. */
const patternChars = 200;
const stepChars = 50;
/** A call that makes a text takes as long as some that make a number; those that parse, hash or search, as many. */
const textSteps = 5;
const heavySteps = 10;
const heavy =
  /^(?:JSON|SHA|MD5|base58|jaro|ngram|multiS|extract|match|countM|regexp|normalize|format|parse)|Regexp|like$/i;
/** Functions that compare each item of one argument with each of the other. */
const crossing = new Set(["hasall", "hasany"]);
/** Functions that return one of their values. */
const choosing = new Set(["if", "multiif", "coalesce", "ifnull", "nullif", "greatest", "least", "transform"]);

const sumOf = (costs: readonly Cost[], member: "size" | "steps" | "chars"): number =>
  costs.reduce((sum, cost) => sum + cost[member], 0);
const isText = ({ type }: Sql): boolean => type === "string" || type === "json" || type === "unknown";
const isScalar = ({ type }: Sql): boolean => !isText({ type } as Sql) && type !== "array";

const counted = (value: Sql | undefined): number =>
  typeof value?.constant === "number" ? Math.abs(value.constant) : functionLimits.unknownCountMax;

/** How many numbers range() of constants makes; undefined for others. */
export function countRange(values: readonly Sql[]): number | undefined {
  const numbers = values.map(({ constant }) => (typeof constant === "number" ? constant : Number.NaN));
  const [from, to, step] = numbers.length === 1 ? [0, numbers[0]!] : numbers;
  const count = Math.ceil((to! - from!) / (step ?? 1));
  return Number.isFinite(count) ? Math.max(0, count) : undefined;
}

type Growth = (args: readonly Sql[], costs: readonly Cost[]) => Pick<Cost, "size" | "count">;

const padded: Growth = (args, [text]) => ({ size: text!.size + counted(args[1]) });
const squared: Growth = (_, [text]) => ({ size: text!.size ** 2 });
/** A text of a column has few matches; one that the query makes may be nothing else. */
const replaced: Growth = (_, [text, from, to]) => {
  const isMade = text!.isFixed || text!.size > freeChars || to!.size > freeChars;
  return { size: text!.size * (isMade ? Math.max(1, to!.size / Math.max(1, from!.size)) : 1) };
};
const joined = (count: number, between: Cost | undefined): number => count * (between?.size ?? 0);

/** Results that are larger than the arguments together. */
const growing: Readonly<Record<string, Growth>> = {
  repeat: (args, [text]) => ({ size: text!.size * counted(args[1]) }),
  leftPad: padded,
  rightPad: padded,
  leftPadUTF8: padded,
  rightPadUTF8: padded,
  toFixedString: padded,
  bitShiftLeft: padded,
  URLHierarchy: squared,
  URLPathHierarchy: squared,
  replaceAll: replaced,
  replaceRegexpAll: replaced,
  ngrams: (args, [text]) => ({ size: text!.size * counted(args[1]) }),
  format: (_, [template, text]) => ({ size: template!.size * text!.size }),
  arrayStringConcat: (_, [array, by]) => ({ size: array!.size + joined(array!.count ?? itemsUsual, by) }),
  concatWithSeparator: (_, [by, ...texts]) => ({ size: sumOf(texts, "size") + joined(texts.length, by) }),
  arrayWithConstant: ([count], [, item]) => ({ size: counted(count) * item!.size, count: counted(count) }),
  arrayResize: ([, count], [array, , item]) => ({
    size: array!.size + counted(count) * (item?.size ?? 1),
    count: counted(count),
  }),
  range: (args) => {
    const count = countRange(args) ?? functionLimits.unknownCountMax;
    return { size: count, count };
  },
};

/** @param parts the values within the node, in the order of its arguments. */
export function costOf(node: ExpressionNode, value: Sql, parts: readonly Sql[]): Cost {
  const costs = parts.map((part) => part.cost!);
  const within = { steps: 1 + sumOf(costs, "steps"), chars: sumOf(costs, "chars") };
  if (node.node === "Constant" || node.node === "Placeholder")
    return { size: String(value.constant ?? "").length, ...within, isFixed: true, ...value.cost };
  if (node.node === "Field") {
    const known = costs[0] ?? value.cost ?? { size: isText(value) ? textChars : 1, isFixed: false };
    return { ...known, ...within };
  }
  const call = node.node === "Call" ? node : undefined;
  const callee = call && sqlFunction(call.name);
  const name = call ? (callee?.name ?? call.name.toLowerCase()) : "";
  const lambda = call ? call.args.findIndex((one) => one.node === "Lambda") : -1;
  if (costs[lambda]) return costOfLambda(name, costs[lambda], costs.toSpliced(lambda, 1));
  const made = costs.reduce((sum, { size }) => sum + (size > freeChars ? size : 0), 0);
  const op = node.node === "CompareOperation" ? node.op : name;
  const weight = heavy.test(op) ? heavySteps : 1;
  within.steps += Math.max(weight, call && value.type === "string" ? textSteps : 1) - 1;
  within.chars += made * weight + patternCost(op, callee?.args ?? "", parts);
  if (crossing.has(name)) within.chars += costs[0]!.size * costs[1]!.size;
  const isFixed = node.node !== "Lambda" && costs.every((cost) => cost.isFixed);
  const grown = Object.hasOwn(growing, name) ? growing[name]!(parts, costs) : undefined;
  if (grown || isScalar(value)) return { ...within, isFixed, ...(grown ?? { size: 1 }) };
  const sizes = costs.map(({ size }) => size);
  const size = choosing.has(name) ? Math.max(...sizes) : sumOf(costs, "size");
  const items = node.node === "Array" || name === "array" ? costs.length : 0;
  const count = Math.max(items, value.type === "string" ? 0 : made, ...costs.map((cost) => cost.count ?? 0));
  return {
    ...within,
    isFixed,
    size: Math.max(value.type === "string" ? textChars : 1, size),
    count: count || undefined,
  };
}

/** A function that calls a lambda for each item of its arrays. */
function costOfLambda(name: string, body: Cost, arrays: readonly Cost[]): Cost {
  const count = Math.max(0, ...arrays.map((one) => one.count ?? 0)) || undefined;
  const size = Math.max(1, ...arrays.map((one) => one.size));
  const itemChars = size > freeChars ? size - (count ?? size) : 0;
  return {
    size: name === "arrayMap" ? (count ?? itemsUsual) * body.size : size,
    count,
    steps: 1 + sumOf(arrays, "steps") + body.steps * (count ?? itemsUsual),
    chars: sumOf(arrays, "chars") + itemChars * body.steps + body.chars * (count ?? itemsMost),
    isFixed: arrays.every((one) => one.isFixed) && body.isFixed,
  };
}

/** Repetitions in a pattern, and what compiling one for each row takes. */
function patternCost(op: string, args: string, parts: readonly Sql[]): number {
  const { cost } = parts[1] ?? {};
  if (op.endsWith("like")) return cost && !cost.isFixed ? cost.size * patternChars : 0;
  if (!op.includes("~") && !args.includes("r")) return 0;
  const at = op.includes("~") ? 1 : kindsOf(args, parts.length).indexOf("r");
  const pattern = parts[at]?.constant;
  if (typeof pattern !== "string") return 0;
  return Math.max(0, countSteps(pattern) - pattern.length) * stepChars;
}
