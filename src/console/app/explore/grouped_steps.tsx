// The steps of a funnel as bars, those of all values of a breakdown together; and the links of steps to their persons.

import type { FunnelStep } from "../../../query/result.ts";
import { stepPersons, useFigureHref } from "../actors/figures.tsx";
import { numberText, percentText } from "../ui/format.ts";
import { inkAt } from "../ui/ink.ts";
import { Cut } from "../ui/parts.tsx";
import { useDark } from "../ui/theme.tsx";
import { nameStep, shownValue } from "./results.ts";

export const stepLettersMax = 100;

export const titleStep = (step: FunnelStep) => `${step.order + 1}. ${nameStep(step)}`;

/** How many came to the step before this one. */
export const countBefore = (steps: readonly FunnelStep[], { order, count }: FunnelStep) =>
  steps[order - 1]?.count ?? count;

export function useStepHref() {
  const hrefOfFigure = useFigureHref();
  return (steps: readonly FunnelStep[], step: FunnelStep, isLost: boolean) => {
    const { breakdown_value: value, order, count } = step;
    return hrefOfFigure(
      (query) => stepPersons(query, step, isLost),
      `${isLost ? "Did not reach" : "Reached"} step ${order + 1}, ${nameStep(step)}` +
        (value === undefined ? "" : ` · ${shownValue(value)}`),
      isLost ? countBefore(steps, step) - count : count,
    );
  };
}

/** The steps of all values, one below the other: each is as long as its part of those who began with this value. */
export function GroupedSteps({ funnels }: { funnels: readonly FunnelStep[][] }) {
  const linkStep = useStepHref();
  const isDark = useDark();
  return (
    <ul class="bars" aria-hidden="true">
      {funnels[0]!.map((shown, i) => (
        <li key={shown.order}>
          <Cut text={titleStep(shown)} lettersMax={stepLettersMax} />
          {funnels.map((steps, j) => {
            const [begun, step] = [steps[0]!.count, steps[i]!];
            return (
              <div key={j} class="grouped">
                <span class="cut">{shownValue(step.breakdown_value)}</span>
                <a class="track" tabIndex={-1} href={linkStep(steps, step, false)}>
                  <div
                    class="bar"
                    style={{
                      width: `${(step.count / Math.max(1, begun)) * 100}%`,
                      background: inkAt(j, isDark),
                    }}
                  />
                </a>
                <span>
                  {numberText(step.count)} {i > 0 && ` · ${percentText(step.count, begun)}`}
                </span>
              </div>
            );
          })}
        </li>
      ))}
    </ul>
  );
}
