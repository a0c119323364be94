// The steps of funnels: how many persons got to each.

import { FigureLink, useBehind } from "../actors/figure_link.tsx";
import { personsOfStep } from "../actors/figures.ts";
import { durationText, numberText, percentText } from "../ui/format.ts";
import { Table } from "../ui/table.tsx";
import { type FunnelStep, shownValue } from "./results.ts";

export function FunnelView({ funnels }: { funnels: FunnelStep[][] }) {
  return (
    <>
      {funnels.map((steps, i) => (
        <OneFunnel key={i} steps={steps} />
      ))}
    </>
  );
}

function OneFunnel({ steps }: { steps: FunnelStep[] }) {
  const first = steps[0]?.count ?? 0;
  const nameOf = (step: FunnelStep) => step.custom_name ?? step.name ?? "Any event";
  const before = (step: FunnelStep) => steps[step.order - 1]?.count ?? step.count;
  const value = steps[0]?.breakdown_value;
  const behind = useBehind();
  const hrefOf = (step: FunnelStep, isLost: boolean) =>
    behind(
      (query) => personsOfStep(query, step, isLost),
      `${isLost ? "Not as far as" : "Came to"} step ${step.order + 1}, ${nameOf(step)}` +
        (value === undefined ? "" : ` · ${shownValue(value)}`),
      isLost ? before(step) - step.count : step.count,
    );
  return (
    <div class="funnel">
      {value !== undefined && <h3>{shownValue(value)}</h3>}
      <ul class="bars" aria-hidden="true">
        {steps.map((step) => (
          <li key={step.order}>
            {step.order + 1}. {nameOf(step)} · {numberText(step.count)}
            <a class="track" tabIndex={-1} href={hrefOf(step, false)}>
              <div class="bar" style={{ width: `${first === 0 ? 0 : (step.count / first) * 100}%` }} />
            </a>
          </li>
        ))}
      </ul>
      <Table
        caption="The steps of the funnel"
        rows={steps}
        id={(step) => step.order}
        columns={[
          { name: "Step", cell: (step) => `${step.order + 1}. ${nameOf(step)}` },
          {
            name: "Persons",
            cell: (step) => <FigureLink href={hrefOf(step, false)}>{numberText(step.count)}</FigureLink>,
            number: true,
          },
          {
            name: "Lost before",
            cell: (step) =>
              step.order > 0 && (
                <FigureLink href={hrefOf(step, true)}>{numberText(before(step) - step.count)}</FigureLink>
              ),
            number: true,
          },
          { name: "Of the first", cell: (step) => percentText(step.count, first), number: true },
          { name: "Of the step before", cell: (step) => percentText(step.count, before(step)), number: true },
          {
            name: "Median time",
            cell: ({ median_conversion_time: time }) => (time === null ? "–" : durationText(time)),
            number: true,
          },
        ]}
      />
    </div>
  );
}
