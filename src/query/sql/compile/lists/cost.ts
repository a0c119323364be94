// Estimates what an expression takes for one row, estimated before it is sent: the engine looks at its bounds between
// two blocks only.

import { wordsIn } from "../../../../core/words.ts";
import { countSteps } from "../../../../storage/events/pattern_steps.ts";
import type { ExpressionNode } from "../../tree.ts";
import type { Cost, Sql, SqlType } from "../value.ts";
import { sqlFunction } from "./functions.ts";
import { chooseKinds } from "./kinds.ts";
import { functionLimits } from "./limits.ts";

/** Up to so many characters a call costs no more than any other; a text that is not known has so many. */
const [freeChars, textChars] = [64, 8];
/** Items of an array of unknown length: for steps, whose memory is bounded; and for chars, which take none. */
const [itemsUsual, itemsMost] = [20, 10_000];
/** A character of a pattern that is compiled for each row, and a step that a repetition adds to one, in characters. */
const [patternChars, stepChars] = [200, 50];
/** A call that makes a text takes as long as some that make a number; those that parse, hash or search, as many. */
const [textSteps, heavySteps] = [5, 10];
const heavy =
  /^(?:JSON|SHA|MD5|base58|jaro|ngram|multiS|extract|match|countM|regexp|normalize|format|parse)|Regexp|like$/i;
/** Functions that compare each item of one argument with each of the other. */
const crossing = new Set(["hasall", "hasany"]);
/** Functions that return one of their values. */
const choosing = new Set<string>(wordsIn("if multiif coalesce ifnull nullif greatest least transform"));

/** Parts of a query that read only a few characters of their values. */
const light =
  /^(?:Alias|ArrayAccess|TupleAccess|arrayElement|tupleElement|length|empty|notEmpty|==|!=|<=?|>=?)$/;

const isText = ({ type }: Pick<Sql, "type">): boolean =>
  type === "string" || type === "json" || type === "unknown";
export const hasLength = (type: SqlType): boolean => isText({ type }) || type === "array";
const readSize = (part: Sql | undefined): number => part?.cost?.size ?? 1;
const readCount = (part: Sql | undefined): number =>
  typeof part?.constant === "number" ? Math.abs(part.constant) : functionLimits.unknownCountMax;

/** How many numbers range() of constants makes; undefined for others. */
export function countRange(values: readonly Sql[]): number | undefined {
  const numbers = values.map(({ constant }) => (typeof constant === "number" ? constant : Number.NaN));
  const [from, to, step] = numbers.length === 1 ? [0, numbers[0]!] : numbers;
  const count = Math.ceil((to! - from!) / (step ?? 1));
  return Number.isFinite(count) ? Math.max(0, count) : undefined;
}

type Growth = (...parts: Sql[]) => number | { size: number; count: number };
const growth = (names: string, grow: Growth) =>
  Object.fromEntries(names.split(" ").map((name) => [name, grow]));

/** The sizes of results that are larger than the arguments together. */
const growing: Readonly<Record<string, Growth>> = {
  ...growth("repeat ngrams", (text, count) => readSize(text) * readCount(count)),
  ...growth(
    "leftPad rightPad leftPadUTF8 rightPadUTF8 toFixedString bitShiftLeft",
    (text, count) => readSize(text) + readCount(count),
  ),
  ...growth("URLHierarchy URLPathHierarchy", (text) => readSize(text) ** 2),
  ...growth("replaceAll replaceRegexpAll", (text, from, to) => {
    // A text of a column has few matches; one that the query makes may be nothing else.
    const isMade = text!.cost!.isFixed || readSize(text) > freeChars || readSize(to) > freeChars;
    return readSize(text) * (isMade ? Math.max(1, readSize(to) / Math.max(1, readSize(from))) : 1);
  }),
  format: (template, ...texts) => readSize(template) * Math.max(...texts.map(readSize)),
  arrayStringConcat: (array, by) =>
    readSize(array) + (by ? (array!.cost!.count ?? itemsUsual) * readSize(by) : 0),
  concatWithSeparator: (by, ...texts) => texts.reduce((sum, text) => sum + readSize(text) + readSize(by), 0),
  arrayWithConstant: (count, item) => ({ size: readCount(count) * readSize(item), count: readCount(count) }),
  arrayResize: (array, count, item) => ({
    size: readSize(array) + readCount(count) * readSize(item),
    count: readCount(count),
  }),
  range: (...limits) => {
    const count = countRange(limits) ?? functionLimits.unknownCountMax;
    return { size: count, count };
  },
};

/** @param parts the values within the node, in the order of its arguments. */
export function estimateCost(node: ExpressionNode, value: Sql, parts: readonly Sql[]): Cost {
  let steps = 1;
  let [chars, size, largest, made, count] = [0, 0, 0, 0, 0];
  let isFixed = node.node !== "Lambda";
  for (const part of parts) {
    const cost = part.cost!;
    steps += cost.steps;
    chars += cost.chars;
    size += cost.size;
    if (cost.size > largest) largest = cost.size;
    if (cost.size > freeChars) made += cost.size;
    if (cost.count !== undefined && cost.count > count) count = cost.count;
    if (!cost.isFixed) isFixed = false;
  }
  if (node.node === "Constant" || node.node === "Placeholder")
    return value.cost ?? { size: String(value.constant ?? "").length, steps, chars, isFixed: true };
  if (node.node === "Field") {
    const known = parts[0]?.cost ?? value.cost;
    if (known) return { size: known.size, steps, chars, isFixed: known.isFixed, count: known.count };
    return { size: isText(value) ? textChars : 1, steps, chars, isFixed: false, count: undefined };
  }
  if (node.node === "SelectQuery" || node.node === "SelectSetQuery")
    return { size: hasLength(value.type) ? functionLimits.scalarCharsMax : 1, steps, chars, isFixed: false };
  const call = node.node === "Call" ? node : undefined;
  const callee = call && sqlFunction(call.name);
  const name = callee?.name ?? call?.name.toLowerCase() ?? "";
  const lambda = call ? call.args.findIndex((arg) => arg.node === "Lambda") : -1;
  if (lambda >= 0 && parts[lambda])
    return estimateLambda(name, parts[lambda].cost!, parts.toSpliced(lambda, 1));
  const op = node.node === "CompareOperation" ? node.op : name;
  const weight = op !== "" && heavy.test(op) ? heavySteps : 1;
  steps += Math.max(weight, call && value.type === "string" ? textSteps : 1) - 1;
  if (!light.test(op || node.node)) chars += made * weight;
  chars += patternCost(op, callee?.args ?? "", parts);
  if (crossing.has(name)) chars += readSize(parts[0]) * readSize(parts[1]);
  const grown = Object.hasOwn(growing, name) ? growing[name]!(...parts) : undefined;
  if (typeof grown === "object") return { steps, chars, isFixed, ...grown };
  if (grown !== undefined || (!isText(value) && value.type !== "array"))
    return { steps, chars, isFixed, size: grown ?? 1 };
  if (node.node === "Array" || name === "array") count = Math.max(count, parts.length);
  if (value.type !== "string") count = Math.max(count, made);
  size = Math.max(value.type === "string" ? textChars : 1, choosing.has(name) ? largest : size);
  return { steps, chars, isFixed, size, count: count || undefined };
}

/** A function that calls a lambda for each item of its arrays. */
function estimateLambda(name: string, body: Cost, parts: readonly Sql[]): Cost {
  const arrays = parts.map((part) => part.cost!);
  const count = Math.max(0, ...arrays.map((array) => array.count ?? 0)) || undefined;
  const size = Math.max(1, ...arrays.map((array) => array.size));
  const itemChars = size > freeChars ? size - (count ?? size) : 0;
  const add = (member: "steps" | "chars") => arrays.reduce((sum, array) => sum + array[member], 0);
  return {
    size: name === "arrayMap" ? (count ?? itemsUsual) * body.size : size,
    count,
    steps: 1 + add("steps") + body.steps * (count ?? itemsUsual),
    chars: add("chars") + itemChars * body.steps + body.chars * (count ?? itemsMost),
    isFixed: arrays.every((array) => array.isFixed) && body.isFixed,
  };
}

/** Repetitions in a pattern, and what compiling one for each row takes. */
function patternCost(op: string, args: string, parts: readonly Sql[]): number {
  const { cost } = parts[1] ?? {};
  if (op.endsWith("like")) return cost && !cost.isFixed ? cost.size * patternChars : 0;
  if (!op.includes("~") && !args.includes("r")) return 0;
  const pattern = parts[op.includes("~") ? 1 : chooseKinds(args, parts.length).indexOf("r")]?.constant;
  return typeof pattern === "string" ? Math.max(0, countSteps(pattern) - pattern.length) * stepChars : 0;
}
