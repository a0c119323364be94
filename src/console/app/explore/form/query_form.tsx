// The fields of a query: its events, what is counted of each, over which time, by which property.

import type { ComponentChildren } from "preact";
import { AddCondition, ConditionFields, ownerOptions } from "../../filters/condition_fields.tsx";
import { useOffered, WithNames } from "../../filters/property_names.tsx";
import { Form } from "../../ui/forms.tsx";
import { makeInputs, RangeField } from "../../ui/inputs.tsx";
import { Button } from "../../ui/parts.tsx";
import {
  comparisons,
  intervals,
  type Kind,
  orders,
  ownVisits,
  pathTypes,
  ranges,
  retentionIntervals,
  stepCounts,
  trendDisplays,
  views,
  windows,
} from "../choices.ts";
import type { InsightQuery } from "../query.ts";
import { SeriesFields } from "./series_fields.tsx";

interface FormProps {
  /** The query in the fields. */
  next: InsightQuery;
  edit: (query: InsightQuery) => void;
  submit: (query: InsightQuery) => void;
  /** Whether the result that is shown is of another query. */
  isEdited: boolean;
}

export function QueryForm({ next, edit, submit, isEdited }: FormProps) {
  const set = (change: Partial<InsightQuery>) => edit({ ...next, ...change });
  const { kind } = next;
  const { check, choice } = makeInputs(next, set);
  const filters = {
    conditions: next.conditions,
    set: (conditions: InsightQuery["conditions"]) => set({ conditions }),
    mayJoin: true,
  };
  return (
    <WithNames>
      <Form send={() => submit(next)}>
        {kind !== "paths" && <SeriesFields query={next} set={(series) => set({ series })} />}
        <KindFields next={next} set={set} />
        <fieldset class="whole plain">
          <legend>Only where</legend>
          <ConditionFields {...filters} />
          <div class="form">
            <AddCondition {...filters} />
            {kind === "trend" && check("compare", "Compare with the time before")}
            {kind === "trend" && next.compare && choice("compareTo", "Compared with", comparisons)}
            {check("withoutTests", ownVisits)}
            <Button type="submit" kind="primary">
              Show
            </Button>
            {isEdited && <span class="tag">changed since it was shown</span>}
          </div>
        </fieldset>
      </Form>
    </WithNames>
  );
}

const whoCounts = [
  ["false", "Everybody active in a period"],
  ["true", "Only their first time ever"],
] as const;

const columnCounts = ["4", "8", "12", "16"].map((count) => [count, count] as const);

const valueCounts = ["6", "10", "25"].map((count) => [count, `The ${count} most frequent`] as const);

/** The fields that each kind of query has beside its events and filters. */
function KindFields({ next, set }: Pick<FormProps, "next"> & { set(change: Partial<InsightQuery>): void }) {
  const { text, choice } = makeInputs(next, set);
  const setRange = (from: string, to: string) => set({ range: from, to });
  const range = <RangeField from={next.range} to={next.to} set={setRange} options={ranges} />;
  const interval = choice("interval", "Interval", intervals);
  const formula = text("formula", "Formula; event 1 is A", { placeholder: "A / B * 100" });
  const { names, nameList } = useOffered();
  const offered = { placeholder: "$browser", list: nameList(next.breakdownType) };
  const breakdown = [
    text("breakdown", "Break down by property", offered),
    next.breakdown !== "" && choice("breakdownType", "Of", ownerOptions(names, next.breakdownType)),
    next.breakdown !== "" && choice("values", "Values", valueCounts),
  ];
  const fields: Record<Kind, ComponentChildren[]> = {
    trend: [
      interval,
      range,
      choice("display", "Shown as", trendDisplays),
      (next.series.length > 1 || next.formula !== "") && formula,
      ...breakdown,
    ],
    funnel: [
      range,
      choice("window", "Within", windows),
      choice("order", "Steps follow", orders),
      choice("view", "Shown as", views),
      next.view === "trends" && interval,
      ...breakdown,
    ],
    retention: [
      choice("interval", "Period", retentionIntervals),
      choice("columns", "Periods shown", columnCounts),
      text("to", "Until", { type: "date" }),
      choice("first", "Who is counted", whoCounts),
    ],
    lifecycle: [interval, range],
    stickiness: [interval, range],
    paths: [
      range,
      choice("pathType", "Steps are", pathTypes),
      text("start", "Begin with", { placeholder: "anywhere" }),
      text("end", "End with", { placeholder: "anywhere" }),
      choice("steps", "Length", stepCounts),
    ],
  };
  return <>{fields[next.kind]}</>;
}
