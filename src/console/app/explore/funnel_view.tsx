// The steps of funnels: how many persons got to each.

import { type FunnelStep, toFunnels } from "../../../query/result.ts";
import { stepPersons, useFigureHref } from "../actors/figures.tsx";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { rangeBefore } from "../ui/chart/intervals.ts";
import { durationText, numberText, percentText, signedText } from "../ui/format.ts";
import { Cut, FigureLink } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { unwrapQuery } from "../values.ts";
import { nameStep, shownValue } from "./results.ts";

const stepLettersMax = 100;

const titleStep = (step: FunnelStep) => `${step.order + 1}. ${nameStep(step)}`;

interface FunnelProps {
  funnels: readonly FunnelStep[][];
  /** The query of the funnel; undefined where no queries may be sent. */
  query: unknown;
  /** On a dashboard: the table is closed. */
  small: boolean;
}

/** How many of those who began came to the end; with a breakdown, each funnel shows its own. */
export function FunnelView({ funnels, query, small }: FunnelProps) {
  const [steps = [], ...others] = funnels;
  const { first, last } = findEnds(steps);
  return (
    <>
      {others.length === 0 && (
        <div class="bold-numbers headline">
          <p>
            <span class="bold-number">{percentText(last, first)}</span>
            <span class="quiet">
              {numberText(last)} of {numberText(first)} came to the last step
            </span>
            {query !== undefined && <ConversionBefore query={query} rate={first === 0 ? 0 : last / first} />}
          </p>
        </div>
      )}
      {funnels.map((funnel, i) => (
        <OneFunnel key={i} steps={funnel} small={small} />
      ))}
    </>
  );
}

const findEnds = (steps: readonly FunnelStep[]) => ({
  first: steps[0]?.count ?? 0,
  last: steps.at(-1)?.count ?? 0,
});

/** The rate of the time before: two queries, since the API returns the days of a range with its result. */
function ConversionBefore({ query, rate }: { query: unknown; rate: number }) {
  const mayQuery = useAllowed("query:read");
  const source = unwrapQuery(query);
  const loaded = useRead(
    async (api, signal) => {
      if (!mayQuery) return undefined;
      const range = {
        kind: "TrendsQuery",
        series: [source["series"]].flat().slice(0, 1),
        dateRange: source["dateRange"] ?? null,
        trendsFilter: { display: "BoldNumber" },
      };
      type Resolved = { resolved_date_range: Parameters<typeof rangeBefore>[0] };
      const dateRange = rangeBefore((await api.ask<Resolved>(range, signal)).resolved_date_range);
      if (!dateRange) return undefined;
      const { results } = await api.ask<{ results: FunnelStep[] }>({ ...source, dateRange }, signal);
      return findEnds(toFunnels(results)[0]!);
    },
    [JSON.stringify(source)],
  );
  // While it is loaded, the line has its height.
  if (!loaded.value) return <span class="quiet">{"\u00a0"}</span>;
  const { first, last } = loaded.value;
  if (first === 0) return <span class="quiet">none before</span>;
  const points = Math.round((rate - last / first) * 1000) / 10;
  return (
    <span class="quiet">{`${signedText(points, " points")} (before: ${percentText(last, first)})`}</span>
  );
}

function OneFunnel({ steps, small }: { steps: FunnelStep[]; small: boolean }) {
  const first = steps[0]?.count ?? 0;
  const before = (step: FunnelStep) => steps[step.order - 1]?.count ?? step.count;
  const value = steps[0]?.breakdown_value;
  const hrefOfFigure = useFigureHref();
  const linkStep = (step: FunnelStep, isLost: boolean) =>
    hrefOfFigure(
      (query) => stepPersons(query, step, isLost),
      `${isLost ? "Did not reach" : "Reached"} step ${step.order + 1}, ${nameStep(step)}` +
        (value === undefined ? "" : ` · ${shownValue(value)}`),
      isLost ? before(step) - step.count : step.count,
    );
  return (
    <div class="funnel">
      {value !== undefined && (
        <h3>
          <Cut text={shownValue(value)} lettersMax={stepLettersMax} />
        </h3>
      )}
      <ul class="bars" aria-hidden="true">
        {steps.map((step) => (
          <li key={step.order}>
            <Cut text={titleStep(step)} lettersMax={stepLettersMax} /> · {numberText(step.count)}
            {step.order > 0 && ` · ${percentText(step.count, first)}`}
            <a class="track" tabIndex={-1} href={linkStep(step, false)}>
              <div class="bar" style={{ width: `${first === 0 ? 0 : (step.count / first) * 100}%` }} />
            </a>
          </li>
        ))}
      </ul>
      <details class="numbers" open={!small}>
        <summary>Numbers</summary>
        <Table
          caption="The steps of the funnel"
          rows={steps}
          id={(step) => step.order}
          columns={({ column, numberColumn }) => [
            column("Step", (step) => <Cut text={titleStep(step)} lettersMax={stepLettersMax} />),
            numberColumn("Persons", (step) => (
              <FigureLink href={linkStep(step, false)}>{numberText(step.count)}</FigureLink>
            )),
            numberColumn(
              "Lost before",
              (step) =>
                step.order > 0 && (
                  <FigureLink href={linkStep(step, true)}>{numberText(before(step) - step.count)}</FigureLink>
                ),
            ),
            numberColumn("Of the first", (step) => percentText(step.count, first)),
            numberColumn("Of the step before", (step) => percentText(step.count, before(step))),
            numberColumn("Median time", ({ median_conversion_time: time }) =>
              time === null ? "–" : durationText(time),
            ),
          ]}
        />
      </details>
    </div>
  );
}
