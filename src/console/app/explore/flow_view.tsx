// How long persons took through a funnel, and which step they took after which.

import { FigureLink, useBehind } from "../actors/figure_link.tsx";
import { personsOfLink } from "../actors/figures.ts";
import { Bars } from "../ui/bars.tsx";
import { durationText, numberText } from "../ui/format.ts";
import { Cut } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import type { PathLink, Times } from "./results.ts";

export function TimesView({ times: { bins, average_conversion_time: average } }: { times: Times }) {
  const bars = bins.map(([seconds, persons], i) => ({
    label: `${durationText(seconds)}${bins[i + 1] ? ` to ${durationText(bins[i + 1]![0])}` : " and more"}`,
    value: persons,
    text: numberText(persons),
  }));
  return (
    <>
      {average === null ? (
        <p>Nobody came through.</p>
      ) : (
        <div class="bold-numbers headline">
          <p>
            <span class="bold-number">{durationText(average)}</span>
            <span class="quiet">on average</span>
          </p>
        </div>
      )}
      <Bars caption="Persons by how long they took" bars={bars} />
    </>
  );
}

/** Letters of a step's name in a row. */
const stepLettersMax = 60;

export function PathsView({ links }: { links: PathLink[] }) {
  const behind = useBehind();
  const hrefOf = (link: PathLink) =>
    behind(
      (query) => personsOfLink(query, link),
      `From ${shownStep(link.source)} to ${shownStep(link.target)}`,
    );
  return (
    <Table
      caption="The steps of paths"
      rows={links}
      id={({ source, target }) => JSON.stringify([source, target])}
      columns={[
        { name: "From", cell: ({ source }) => <Cut text={shownStep(source)} most={stepLettersMax} /> },
        { name: "To", cell: ({ target }) => <Cut text={shownStep(target)} most={stepLettersMax} /> },
        {
          name: "Times",
          cell: (link) => <FigureLink href={hrefOf(link)}>{numberText(link.value)}</FigureLink>,
          number: true,
        },
        {
          name: "Average time",
          cell: ({ average_conversion_time: time }) => durationText(time / 1000),
          number: true,
        },
      ]}
    />
  );
}

/** `2_/tea` as "2. /tea". */
const shownStep = (name: string): string => name.replace("_", ". ");
