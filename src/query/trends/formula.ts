// Formulas over the series of a trend, as `A / B * 100`: letters are series in their order.

import { yieldToEventLoop } from "../../core/clock.ts";
import { refuseInput } from "../../core/fault.ts";
import { queryLimits } from "../limits.ts";
import { compareLines } from "../parts/breakdown.ts";
import type { TrendLine } from "../result.ts";

/** The result for the series' numbers of one interval. */
export type Formula = ReturnType<typeof readFormula>;

type Step = (numbers: readonly number[]) => number;

const operators: Readonly<Record<string, [rank: number, compute: (a: number, b: number) => number]>> = {
  "+": [1, (a, b) => a + b],
  "-": [1, (a, b) => a - b],
  "*": [2, (a, b) => a * b],
  "/": [2, (a, b) => (b === 0 ? 0 : a / b)],
  // The remainder has the sign of the divisor, as in PostHog's Python.
  "%": [2, (a, b) => (b === 0 ? 0 : a % b && a % b < 0 !== b < 0 ? (a % b) + b : a % b)],
};

const tokens = /\s*(?:(\d{1,15}(?:\.\d{1,15})?)|([A-Za-z])(?![A-Za-z0-9_])|([-+*/%()]))/y;

/** @param series the number of series. @throws Fault for what is no formula over them. */
export function readFormula(text: string, custom_name: string | null, series: number, attr: string) {
  const { formulaCharsMax, formulaDepthMax } = queryLimits;
  if (text.length > formulaCharsMax)
    refuseInput(`A formula may have ${formulaCharsMax} characters.`, attr, "max_length");
  const reader = new Reader(text.trimEnd(), series, attr);
  const compute = reader.sum(formulaDepthMax);
  if (!reader.isAtEnd) reader.refuse();
  return {
    text,
    custom_name,
    /** A division by zero is 0, as at PostHog. */
    of: (numbers: readonly number[]) => {
      const value = compute(numbers);
      return Number.isFinite(value) ? value : 0;
    },
  };
}

/**
 * One line for each value of the breakdown and each period that any series has; a series without it counts 0. The
 * largest is first in each period, none and all others are last. It yields to the event loop after each line.
 */
export async function formulaLines(
  formula: Formula,
  order: number,
  bySeries: readonly (readonly TrendLine[])[],
): Promise<TrendLine[]> {
  const buildKey = ({ breakdown_value, compare_label }: TrendLine) =>
    JSON.stringify([compare_label ?? null, breakdown_value ?? null]);
  const linesByKey = bySeries.map((lines) => new Map(lines.map((line) => [buildKey(line), line])));
  const firsts = new Map(
    bySeries
      .flat()
      .toReversed()
      .map((line) => [buildKey(line), line]),
  );
  const lines: TrendLine[] = [];
  for (const [key, first] of [...firsts].toReversed()) {
    const summands = linesByKey.map((ofSeries) => ofSeries.get(key));
    const label = formula.custom_name || `Formula (${formula.text})`;
    const untils = summands.map((line) => line?.until);
    lines.push({
      ...first,
      action: null,
      order,
      label,
      ...computeNumbers(formula, first, summands),
      ...(first.until && { until: { ...first.until, ...computeNumbers(formula, first.until, untils) } }),
    });
    await yieldToEventLoop();
  }
  const isBefore = (line: TrendLine) => Number(line.compare_label === "previous");
  return lines.toSorted((a, b) => isBefore(a) - isBefore(b) || compareLines(a, b));
}

type Numbers = Pick<TrendLine, "data" | "count" | "aggregated_value">;

function computeNumbers(formula: Formula, first: Numbers, summands: readonly (Numbers | undefined)[]) {
  const data = first.data.map((_, i) => formula.of(summands.map((line) => line?.data[i] ?? 0)));
  return {
    data,
    count: data.reduce((sum, value) => sum + value, 0),
    ...(first.aggregated_value !== undefined && {
      aggregated_value: formula.of(summands.map((line) => line?.aggregated_value ?? 0)),
    }),
  };
}

class Reader {
  readonly #text: string;
  readonly #series: number;
  readonly #attr: string;
  #at = 0;

  constructor(text: string, series: number, attr: string) {
    this.#text = text;
    this.#series = series;
    this.#attr = attr;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** A sum of products; with a rank, only operators that bind as closely. */
  sum(depth: number, rank = 1): Step {
    let left = this.#operand(depth);
    for (;;) {
      const before = this.#at;
      const [, , , symbol = ""] = this.#next() ?? [];
      const [precedence = 0, compute = undefined] = operators[symbol] ?? [];
      if (!compute || precedence < rank) {
        this.#at = before;
        return left;
      }
      const [first, second] = [left, this.sum(depth, precedence + 1)];
      left = (numbers) => compute(first(numbers), second(numbers));
    }
  }

  refuse(): never {
    const has = "It has numbers, + - * / %, brackets, and the letters of series, the first being A.";
    refuseInput(`The formula cannot be read at character ${this.#at + 1}. ${has}`, this.#attr);
  }

  #operand(depth: number): Step {
    const before = this.#at;
    const [, number, letter, symbol] = this.#next() ?? [];
    if (number !== undefined) return () => Number(number);
    if (letter !== undefined) {
      const index = letter.toUpperCase().charCodeAt(0) - 65;
      if (index < this.#series) return (numbers) => numbers[index] ?? 0;
    }
    if (depth > 0 && symbol === "-") {
      const value = this.#operand(depth - 1);
      return (numbers) => 0 - value(numbers);
    }
    if (depth > 0 && symbol === "(") {
      const value = this.sum(depth - 1);
      if (this.#next()?.[3] === ")") return value;
    }
    this.#at = before;
    return this.refuse();
  }

  #next(): RegExpExecArray | undefined {
    tokens.lastIndex = this.#at;
    const match = tokens.exec(this.#text);
    if (match) this.#at = tokens.lastIndex;
    return match ?? undefined;
  }
}
