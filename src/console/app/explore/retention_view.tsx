// Persons by when they did something, and how many of them came back.

import { FigureLink, useBehind } from "../actors/figure_link.tsx";
import { personsOfCell } from "../actors/figures.ts";
import { dayText, numberText, percentText } from "../ui/format.ts";
import type { Cohort } from "./results.ts";

interface RetentionProps {
  cohorts: Cohort[];
  /** PostHog's name of the kind; undefined where it is not known. */
  retentionType: string | undefined;
}

/** What each kind counts: the head of its first column, and a sentence. */
const kindsOfRetention: Readonly<Record<string, readonly [head: string, sentence: string]>> = {
  retention_first_time: ["First time in", "Persons who did it for the first time ever, and came back."],
  retention_recurring: [
    "Active in",
    "Everyone who did it in an interval, the first time or not, and came back.",
  ],
};

export function RetentionView({ cohorts, retentionType = "" }: RetentionProps) {
  const [head, sentence] = kindsOfRetention[retentionType] ?? ["Interval", "Persons who came back."];
  const behind = useBehind();
  const isHourly = cohorts[0]?.label.startsWith("Hour") === true;
  const longest = Math.max(...cohorts.map(({ values }) => values.length));
  const places = Array.from({ length: longest }, (_, i) => i);
  return (
    <div class="cohort scroll" tabIndex={0} role="group" aria-label="Retention">
      <table>
        <caption>{sentence}</caption>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {places.map((i) => (
              <th key={i} scope="col" class="number">
                {cohorts[0]?.values[i]?.label ?? i}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cohorts.map(({ date, values }, row) => {
            const name = dayText(date.slice(0, isHourly ? 16 : 10));
            const hrefAt = (column: number) =>
              behind(
                (query) => personsOfCell(query, { row, column, last: cohorts.at(-1)!.date }),
                `${head} ${name}, ${values[column]?.label ?? column}`,
                values[column]?.count,
              );
            return (
              <tr key={date}>
                <th scope="row">{name}</th>
                {places.map((i) => (
                  <CohortCell
                    key={i}
                    count={values[i]?.count}
                    first={values[0]?.count ?? 0}
                    href={values[i] && hrefAt(i)}
                  />
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps {
  count: number | undefined;
  first: number;
  href: string | undefined;
}

function CohortCell({ count, first, href }: CellProps) {
  if (count === undefined) return <td class="cell" />;
  const share = first === 0 ? 0 : count / first;
  // At most 30 % of the accent, so that the text keeps its contrast on light and on dark.
  const strength = Math.round(share * 30);
  return (
    <td class="cell" style={{ background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }}>
      <FigureLink href={href}>{numberText(count)}</FigureLink>
      <br />
      <small>{percentText(count, first)}</small>
    </td>
  );
}
