// How long persons took through a funnel; which steps of paths followed each other.

import { FigureLink, useFigureHref } from "../actors/figure_link.tsx";
import { personsOfLink } from "../actors/figures.ts";
import { Bars } from "../ui/bars.tsx";
import { durationText, numberText } from "../ui/format.ts";
import { Cut } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import type { ConversionTimes, PathLink } from "./results.ts";

export function TimesView({ times: { bins, average_conversion_time: average } }: { times: ConversionTimes }) {
  const bars = bins.map(([seconds, persons], i) => ({
    label: `${durationText(seconds)}${bins[i + 1] ? ` to ${durationText(bins[i + 1]![0])}` : " and more"}`,
    value: persons,
    text: numberText(persons),
  }));
  return (
    <>
      {average === null ? (
        <p>Nobody completed it.</p>
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

const stepLettersMax = 60;

export function PathsView({ links }: { links: PathLink[] }) {
  const hrefOfFigure = useFigureHref();
  const hrefOf = (link: PathLink) =>
    hrefOfFigure(
      (query) => personsOfLink(query, link),
      `From ${shownStep(link.source)} to ${shownStep(link.target)}`,
    );
  return (
    <Table
      caption="The steps of paths"
      rows={links}
      id={({ source, target }) => JSON.stringify([source, target])}
      columns={[
        { name: "From", cell: ({ source }) => <Cut text={shownStep(source)} lettersMax={stepLettersMax} /> },
        { name: "To", cell: ({ target }) => <Cut text={shownStep(target)} lettersMax={stepLettersMax} /> },
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
