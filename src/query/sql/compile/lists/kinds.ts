// Kinds of arguments in the lists of functions, a letter each; `arguments.ts` says what they are.

import { functionLimits } from "./limits.ts";

const letters = "vjzoufmrpkintgsxw";

/** @throws Error where a line has none, or one that is no kind. */
export function checkKinds(args: string): string {
  const wrong = args === "" ? "nothing" : [...args].find((name) => !`${letters}?*|-`.includes(name));
  if (wrong !== undefined) throw new Error(`${wrong} is no kind of argument`);
  return args;
}

/**
 * The kinds of so many arguments. Those after ? may be absent, the one before * is repeated; | parts two ways to call,
 * the shorter first; - stands for no arguments.
 */
export function chooseKinds(args: string, count: number): string {
  if (/^v+$/.test(args)) return args;
  const ways = args.split("|");
  const way = ways.find((name) => name.length >= count) ?? ways.at(-1)!;
  const [head = "", tail = ""] = way.replace(/[?-]/, "").split("*");
  const repeated = way.includes("*") ? Math.max(0, count - head.length - tail.length) : 0;
  return `${head}${head.slice(-1).repeat(repeated)}${tail}`;
}

/** The fewest and the most arguments. */
export function countKinds(args: string): { least: number; most: number } {
  if (/^v+$/.test(args)) return { least: args.length, most: args.length };
  const [required = ""] = args.split(/[?|]/);
  const most = args.includes("*") ? functionLimits.argumentsMax : chooseKinds(args, args.length).length;
  return { least: required.replace(/[-*]/g, "").length, most };
}
