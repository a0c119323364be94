// The fields of a query: its events, what is counted of each, over which time, by which property.

import { useId } from "preact/hooks";
import { AddCondition, ConditionFields, listIdOf, ownerOptions } from "../../filters/condition_fields.tsx";
import { PropertyNames } from "../../filters/property_names.tsx";
import { type ProjectNames, useProjectNames } from "../../session/project_names.ts";
import { numberText } from "../../ui/format.ts";
import { inputsOf } from "../../ui/inputs.tsx";
import { Button, Form } from "../../ui/parts.tsx";
import { RangeField } from "../../ui/range_field.tsx";
import {
  intervals,
  orders,
  pathTypes,
  ranges,
  stepCounts,
  trendDisplays,
  views,
  windows,
  withCurrent,
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
  const { check } = inputsOf(next, set);
  const [lists, names] = [useId(), useProjectNames()];
  const filters = {
    conditions: next.conditions,
    set: (conditions: InsightQuery["conditions"]) => set({ conditions }),
  };
  return (
    <Form send={() => submit(next)}>
      <Names lists={lists} names={names} />
      {kind !== "paths" && (
        <SeriesFields query={next} set={(series) => set({ series })} lists={lists} names={names} />
      )}
      {kind === "trend" && <TrendFields next={next} set={set} />}
      {kind === "funnel" && <FunnelFields next={next} set={set} />}
      {kind === "retention" && <RetentionFields next={next} set={set} />}
      {(kind === "lifecycle" || kind === "stickiness") && <IntervalFields next={next} set={set} />}
      {kind === "paths" && <PathFields next={next} set={set} />}
      {(kind === "trend" || kind === "funnel") && (
        <BreakdownFields query={next} set={set} lists={lists} names={names} />
      )}
      <fieldset class="whole plain">
        <legend>Only where</legend>
        <ConditionFields {...filters} lists={lists} names={names} />
        <div class="form">
          <AddCondition {...filters} />
          {kind === "trend" && check("compare", "Compare with the time before")}
          {check("withoutTests", "Without the project’s test accounts")}
          <Button type="submit" kind="primary">
            Show
          </Button>
          {isEdited && <span class="tag">changed since it was shown</span>}
        </div>
      </fieldset>
    </Form>
  );
}

interface KindProps {
  next: InsightQuery;
  set: (change: Partial<InsightQuery>) => void;
}

function Range({ next, set }: KindProps) {
  const choose = (range: string, to: string) => set({ range, to });
  return <RangeField from={next.range} to={next.to} set={choose} options={ranges} />;
}

function IntervalFields({ next, set }: KindProps) {
  return (
    <>
      {inputsOf(next, set).choice("interval", "Interval", intervals)}
      <Range next={next} set={set} />
    </>
  );
}

function PathFields({ next, set }: KindProps) {
  const { text, choice } = inputsOf(next, set);
  return (
    <>
      <Range next={next} set={set} />
      {choice("pathType", "Steps are", withCurrent(pathTypes, next.pathType))}
      {text("start", "Begin with", { placeholder: "anywhere" })}
      {text("end", "End with", { placeholder: "anywhere" })}
      {choice("steps", "Length", withCurrent(stepCounts, String(next.steps)))}
    </>
  );
}

function TrendFields({ next, set }: KindProps) {
  const { text, choice } = inputsOf(next, set);
  return (
    <>
      <IntervalFields next={next} set={set} />
      {choice("display", "Shown as", withCurrent(trendDisplays, next.display))}
      {(next.series.length > 1 || next.formula !== "") &&
        text("formula", "Formula; event 1 is A", { placeholder: "A / B * 100" })}
    </>
  );
}

function FunnelFields({ next, set }: KindProps) {
  const { choice } = inputsOf(next, set);
  return (
    <>
      <Range next={next} set={set} />
      {choice("window", "Within", withCurrent(windows, next.window))}
      {choice("order", "Steps follow", withCurrent(orders, next.order))}
      {choice("view", "Shown as", withCurrent(views, next.view))}
      {next.view === "trends" && choice("interval", "Interval", intervals)}
    </>
  );
}

const whoCounts = [
  ["false", "Everybody active in a period"],
  ["true", "Only their first time ever"],
] as const;

function RetentionFields({ next, set }: KindProps) {
  const { text, choice } = inputsOf(next, set);
  return (
    <>
      {choice("interval", "Period", intervals)}
      {choice("columns", "Periods shown", withCurrent(columnCounts, String(next.columns)))}
      {text("to", "Until", { type: "date" })}
      {choice("first", "Who is counted", whoCounts)}
    </>
  );
}

const columnCounts = ["4", "8", "12", "16"].map((count) => [count, count] as const);
const valueCounts = ["6", "10", "25"].map((count) => [count, `The ${count} most frequent`] as const);

interface BreakdownProps {
  query: InsightQuery;
  set: (change: Partial<InsightQuery>) => void;
  lists: string;
  names: ProjectNames;
}

function BreakdownFields({ query, set, lists, names }: BreakdownProps) {
  const { breakdown, breakdownType, values } = query;
  const { text, choice } = inputsOf(query, set);
  return (
    <>
      {text("breakdown", "Break down by property", {
        placeholder: "$browser",
        list: listIdOf(lists, breakdownType),
      })}
      {breakdown !== "" && (
        <>
          {choice("breakdownType", "Of", ownerOptions(names, breakdownType))}
          {choice("values", "Values", withCurrent(valueCounts, String(values)))}
        </>
      )}
    </>
  );
}

/** Names of the project that are offered while typing; events with their number. */
function Names({ lists, names }: { lists: string; names: ProjectNames }) {
  return (
    <>
      <datalist id={listIdOf(lists, "events")}>
        {names.events.map(({ name, volume_30_day }) => (
          <option key={name} value={name} label={`${numberText(volume_30_day)} in 30 days`} />
        ))}
      </datalist>
      <PropertyNames lists={lists} names={names} />
    </>
  );
}
