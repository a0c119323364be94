// The number of a result whose persons are listed.

import { refuseInput } from "../../core/fault.ts";
import type { FigureFields } from "./model.ts";

export type FigureField = keyof FigureFields;

export interface FigureRef extends FigureFields {
  /** Names the query in faults. */
  attr: string;
}

/** A statement whose rows have a `person_id`, one of each person or several. */
export interface PersonStatement {
  text: string;
  params: Record<string, unknown>;
  /** Whether each person has one row, with the list `appearances`: how many intervals later the person came. */
  hasAppearances?: boolean;
}

/** How a kind finds the persons behind its numbers. */
export interface PersonsBehind<Context, Checked> {
  takes: readonly FigureField[];
  /** @throws Fault for a number that the result does not have. */
  of: (context: Context, checked: Checked, figure: FigureRef) => Promise<PersonStatement> | PersonStatement;
}

/** @throws Fault named by the field. */
export function noFigure({ attr }: FigureRef, field: FigureField, detail: string): never {
  refuseInput(detail, `${attr}__${field}`);
}

/**
 * The index of a member of `of`.
 * @throws Fault for a number beyond them, and for none where one is needed.
 */
export function figureIndex(
  figure: FigureRef,
  field: "series" | "interval",
  of: readonly unknown[],
  otherwise?: number,
): number {
  const index = figure[field] ?? otherwise;
  if (index !== undefined && index < of.length) return index;
  return noFigure(figure, field, `A number from 0 to ${of.length - 1} is needed.`);
}

/** The index of the line with a breakdown's value, as the result shows it. @throws Fault when it is none of them. */
export function figureLine(
  figure: FigureRef,
  field: "breakdown" | "funnelStepBreakdown",
  shown: readonly (string | string[])[],
): number {
  const wanted = JSON.stringify([figure[field]].flat().map(String));
  const line = shown.findIndex((one) => JSON.stringify([one].flat()) === wanted);
  return line < 0 ? noFigure(figure, field, "The result has no line of this value.") : line;
}

/** The index of a day among those of the result. @throws Fault when it is none of them. */
export function figureDay(figure: FigureRef, days: readonly (string | number)[]): number {
  const index = days.findIndex((day) => String(day) === String(figure.day));
  if (index >= 0) return index;
  return noFigure(
    figure,
    "day",
    `A day of the result is needed, as "days" has them: ${days[0]} to ${days.at(-1)}.`,
  );
}
