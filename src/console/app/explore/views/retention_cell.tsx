// A cell of a retention table, with its shade.

import type { RetentionCohort } from "../../../../query/result.ts";
import { numberText, percentText } from "../../ui/format.ts";
import { FigureLink } from "../../ui/parts.tsx";

interface CellLooks {
  isUnfinished: boolean;
  href: string | undefined;
  /** The rate of the strongest shade. */
  highest: number;
}

/** The first column is everybody: it has a quiet shade. */
export const firstShade = 5;

/** @param first the row's first count. */
export function renderCell(count: number | undefined, first = 0, { isUnfinished, href, highest }: CellLooks) {
  if (count === undefined) return <td class="cell" />;
  const rate = first === 0 ? 0 : count / first;
  // At most 30 % of the accent, so that the text keeps its contrast on light and on dark.
  const strength = Math.round(Math.min(1, rate / highest) * 30);
  return (
    <td
      class={isUnfinished ? "cell unfinished" : "cell"}
      style={{ background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }}
    >
      <FigureLink href={href}>{numberText(count)}</FigureLink>
      <br />
      <small>{percentText(count, first)}</small>
    </td>
  );
}

/** The largest part of a row that came back: it has the strongest shade. */
export function findHighest(cohorts: readonly RetentionCohort[]): number {
  const rates = cohorts.flatMap(({ values: [begun, ...later] }) =>
    later.map(({ count }) => count / Math.max(1, begun?.count ?? 0)),
  );
  return Math.max(...rates, 0.01);
}
