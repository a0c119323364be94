// The steps of funnels: how many persons got to each.

import type { FunnelStep } from "../../../query/result.ts";
import { durationText, numberText, percentText } from "../ui/format.ts";
import { Cut, FigureLink } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Conversion, ConversionBefore, findEnds, WholeConversion } from "./conversion.tsx";
import { countBefore, GroupedSteps, stepLettersMax, titleStep, useStepHref } from "./grouped_steps.tsx";
import { shownValue } from "./results.ts";

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
  return (
    <>
      {others.length === 0 ? (
        <Conversion {...findEnds(steps)}>
          {(rate) => query !== undefined && <ConversionBefore query={query} rate={rate} />}
        </Conversion>
      ) : (
        <>
          {query !== undefined && <WholeConversion query={query} />}
          <GroupedSteps funnels={funnels} />
        </>
      )}
      {funnels.map((funnel, i) => (
        <OneFunnel key={i} steps={funnel} small={small} isOnly={others.length === 0} />
      ))}
    </>
  );
}

function OneFunnel({ steps, small, isOnly }: { steps: FunnelStep[]; small: boolean; isOnly: boolean }) {
  const first = steps[0]?.count ?? 0;
  const before = (step: FunnelStep) => countBefore(steps, step);
  const value = steps[0]?.breakdown_value;
  const stepHref = useStepHref();
  const linkStep = (step: FunnelStep, isLost: boolean) => stepHref(steps, step, isLost);
  return (
    <div class="funnel">
      {value !== undefined && (
        <h3>
          <Cut text={shownValue(value)} lettersMax={stepLettersMax} />
        </h3>
      )}
      {isOnly && (
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
      )}
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
