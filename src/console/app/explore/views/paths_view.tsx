// Paths as a flow of steps, with a table of its numbers.

import type { PathLink } from "../../../../query/result.ts";
import { linkPersons, useFigureHref } from "../../actors/figures.tsx";
import { durationText, numberText } from "../../ui/format.ts";
import { Cut, FigureLink } from "../../ui/parts.tsx";
import { Table } from "../../ui/table.tsx";
import { type FlowBand, layFlow } from "./flow.ts";

interface PathsProps {
  links: PathLink[];
  height: number;
}

/** Letters of a step in the table. */
const stepLettersMax = 60;

export function PathsView({ links, height }: PathsProps) {
  const hrefOfFigure = useFigureHref();
  const nameStep = shortenSteps(links);
  const linkPath = (link: PathLink) =>
    hrefOfFigure(
      (query) => linkPersons(query, link),
      `From ${titleStep(link.source)} to ${titleStep(link.target)}`,
    );
  const { steps, bands, columns, height: whole } = layFlow(links, height);
  const at = (column: number) => `${(100 * column) / columns}%`;
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label="The flow of paths">
        <div class="flow" aria-hidden="true" style={{ height: whole, minWidth: columns * columnWidthMin }}>
          <svg viewBox={`0 0 ${columns} ${whole}`} preserveAspectRatio="none">
            {bands.map((band) => (
              <a key={JSON.stringify(band.link)} tabindex={-1} href={linkPath(band.link)}>
                <path d={drawBand(band)}>
                  <title>
                    {`${titleStep(band.link.source)} → ${titleStep(band.link.target)}: ${numberText(band.link.value)}`}
                  </title>
                </path>
              </a>
            ))}
          </svg>
          {steps.map(({ key, column, value, top, height: high }) => (
            <div key={key} style={{ left: at(column), top, width: at(1), height: high }}>
              <span class="cut" title={titleStep(key)}>
                {nameStep(key)}
              </span>
              <b>{numberText(value)}</b>
            </div>
          ))}
        </div>
      </div>
      <details class="numbers">
        <summary>Numbers</summary>
        <Table
          caption="The steps of paths"
          rows={links}
          id={({ source, target }) => JSON.stringify([source, target])}
          columns={({ column, numberColumn }) => [
            column("From", ({ source }) => <Cut text={titleStep(source)} lettersMax={stepLettersMax} />),
            column("To", ({ target }) => <Cut text={titleStep(target)} lettersMax={stepLettersMax} />),
            numberColumn("Times", (link) => (
              <FigureLink href={linkPath(link)}>{numberText(link.value)}</FigureLink>
            )),
            numberColumn("Average time", ({ average_conversion_time: ms }) => durationText(ms / 1000)),
          ]}
        />
      </details>
    </>
  );
}

/** `2_/tea` as "2. /tea". */
const titleStep = (key: string): string => key.replace("_", ". ");

/** Pixels that a step and its name need. */
const columnWidthMin = 128;

/** The width of a step's bar, of a column. */
const barShare = 0.03;

function drawBand({ from, to, height }: FlowBand): string {
  const [start, end] = [from.column + barShare, to.column];
  const middle = (start + end) / 2;
  const [lowFrom, lowTo] = [from.top + height, to.top + height];
  return (
    `M${start} ${from.top}C${middle} ${from.top} ${middle} ${to.top} ${end} ${to.top}` +
    `V${lowTo}C${middle} ${lowTo} ${middle} ${lowFrom} ${start} ${lowFrom}Z`
  );
}

/** Names steps without their number and, where all are of one site, without its address. */
function shortenSteps(links: readonly PathLink[]): (key: string) => string {
  const cut = (key: string) => key.slice(key.indexOf("_") + 1);
  const cutSite = (key: string) => /^https?:\/\/[^/]+/.exec(cut(key))?.[0] ?? "";
  const [site = "", ...others] = new Set(
    links.flatMap(({ source, target }) => [source, target]).map(cutSite),
  );
  return (key) => (others.length === 0 ? cut(key).slice(site.length) || "/" : cut(key));
}
