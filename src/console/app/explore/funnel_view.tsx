// The steps of funnels: how many persons got to each.

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
  return (
    <div class="funnel">
      {value !== undefined && <h3>{shownValue(value)}</h3>}
      <ul class="bars" aria-hidden="true">
        {steps.map((step) => (
          <li key={step.order}>
            {step.order + 1}. {nameOf(step)} · {numberText(step.count)}
            <div class="track">
              <div class="bar" style={{ width: `${first === 0 ? 0 : (step.count / first) * 100}%` }} />
            </div>
          </li>
        ))}
      </ul>
      <Table
        caption="The steps of the funnel"
        rows={steps}
        id={(step) => step.order}
        columns={[
          { name: "Step", cell: (step) => `${step.order + 1}. ${nameOf(step)}` },
          { name: "Persons", cell: (step) => numberText(step.count), number: true },
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
