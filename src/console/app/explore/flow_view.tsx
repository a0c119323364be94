// How long persons took through a funnel, and which step they took after which.

import { Bars } from "../ui/bars.tsx";
import { durationText, numberText } from "../ui/format.ts";
import { Table } from "../ui/table.tsx";
import type { PathLink, Times } from "./results.ts";

export function TimesView({ times: { bins, average_conversion_time: average } }: { times: Times }) {
  const bars = bins.map(([seconds, persons]) => ({
    label: `From ${durationText(seconds)}`,
    value: persons,
    text: numberText(persons),
  }));
  return (
    <>
      <p>{average === null ? "Nobody came through." : `On average ${durationText(average)}.`}</p>
      <Bars caption="Persons by how long they took" bars={bars} />
    </>
  );
}

export function PathsView({ links }: { links: PathLink[] }) {
  return (
    <Table
      caption="The steps of paths"
      rows={links}
      id={({ source, target }) => JSON.stringify([source, target])}
      columns={[
        { name: "From", cell: ({ source }) => shownStep(source), fixed: true },
        { name: "To", cell: ({ target }) => shownStep(target) },
        { name: "Times", cell: ({ value }) => numberText(value), number: true },
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
