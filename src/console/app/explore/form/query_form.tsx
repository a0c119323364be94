// The fields of a query: its events, what is counted of each, over which time, by which property.

import { useId } from "preact/hooks";
import { AddCondition, ConditionFields, listIdOf, ownerOptions } from "../../filters/condition_fields.tsx";
import { PropertyNames } from "../../filters/property_names.tsx";
import { type ProjectNames, useProjectNames } from "../../session/project_names.ts";
import { numberText } from "../../ui/format.ts";
import { Button, CheckField, ChoiceField, Form, TextField } from "../../ui/parts.tsx";
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
          {kind === "trend" && (
            <CheckField
              label="Compare with the time before"
              value={next.compare}
              set={(on) => set({ compare: on })}
            />
          )}
          <CheckField
            label="Without the project’s test accounts"
            value={next.withoutTests}
            set={(on) => set({ withoutTests: on })}
          />
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

function IntervalFields({ next, set }: KindProps) {
  return (
    <>
      <ChoiceField
        label="Interval"
        value={next.interval}
        set={(interval) => set({ interval })}
        options={intervals}
      />
      <RangeField from={next.range} to={next.to} set={(range, to) => set({ range, to })} options={ranges} />
    </>
  );
}

function PathFields({ next, set }: KindProps) {
  return (
    <>
      <RangeField from={next.range} to={next.to} set={(range, to) => set({ range, to })} options={ranges} />
      <ChoiceField
        label="Steps are"
        value={next.pathType}
        set={(pathType) => set({ pathType })}
        options={withCurrent(pathTypes, next.pathType)}
      />
      <TextField
        label="Begin with"
        value={next.start}
        set={(start) => set({ start })}
        placeholder="anywhere"
      />
      <TextField label="End with" value={next.end} set={(end) => set({ end })} placeholder="anywhere" />
      <ChoiceField
        label="Length"
        value={String(next.steps)}
        set={(steps) => set({ steps: Number(steps) })}
        options={withCurrent(stepCounts, String(next.steps))}
      />
    </>
  );
}

function TrendFields({ next, set }: KindProps) {
  return (
    <>
      <IntervalFields next={next} set={set} />
      <ChoiceField
        label="Shown as"
        value={next.display}
        set={(display) => set({ display })}
        options={withCurrent(trendDisplays, next.display)}
      />
      {(next.series.length > 1 || next.formula !== "") && (
        <TextField
          label="Formula; event 1 is A"
          value={next.formula}
          set={(formula) => set({ formula })}
          placeholder="A / B * 100"
        />
      )}
    </>
  );
}

function FunnelFields({ next, set }: KindProps) {
  return (
    <>
      <RangeField from={next.range} to={next.to} set={(range, to) => set({ range, to })} options={ranges} />
      <ChoiceField
        label="Within"
        value={next.window}
        set={(window) => set({ window })}
        options={withCurrent(windows, next.window)}
      />
      <ChoiceField
        label="Steps follow"
        value={next.order}
        set={(order) => set({ order })}
        options={withCurrent(orders, next.order)}
      />
      <ChoiceField
        label="Shown as"
        value={next.view}
        set={(view) => set({ view })}
        options={withCurrent(views, next.view)}
      />
      {next.view === "trends" && (
        <ChoiceField
          label="Interval"
          value={next.interval}
          set={(interval) => set({ interval })}
          options={intervals}
        />
      )}
    </>
  );
}

function RetentionFields({ next, set }: KindProps) {
  return (
    <>
      <ChoiceField
        label="Period"
        value={next.interval}
        set={(interval) => set({ interval })}
        options={intervals}
      />
      <ChoiceField
        label="Periods shown"
        value={String(next.columns)}
        set={(columns) => set({ columns: Number(columns) })}
        options={withCurrent(columnCounts, String(next.columns))}
      />
      <TextField label="Until" type="date" value={next.to} set={(to) => set({ to })} />
      <ChoiceField
        label="Who is counted"
        value={String(next.first)}
        set={(first) => set({ first: first === "true" })}
        options={[
          ["false", "Everybody active in a period"],
          ["true", "Only their first time ever"],
        ]}
      />
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
  return (
    <>
      <TextField
        label="Break down by property"
        value={breakdown}
        set={(property) => set({ breakdown: property })}
        placeholder="$browser"
        list={listIdOf(lists, breakdownType)}
      />
      {breakdown !== "" && (
        <>
          <ChoiceField
            label="Of"
            value={breakdownType}
            set={(type) => set({ breakdownType: type })}
            options={ownerOptions(names, breakdownType)}
          />
          <ChoiceField
            label="Values"
            value={String(values)}
            set={(count) => set({ values: Number(count) })}
            options={withCurrent(valueCounts, String(values))}
          />
        </>
      )}
    </>
  );
}

/** Names of the project that are offered while somebody types; events with their number. */
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
