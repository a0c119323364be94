// The fields of a question: its events, what is counted of each, over which time, by which property.

import { type ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type ProjectNames, useProjectNames } from "../session/project_names.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useLoaded } from "../session/use_loaded.ts";
import { numberText } from "../ui/format.ts";
import { Button, CheckField, ChoiceField, Form, TextField } from "../ui/parts.tsx";
import { RangeField } from "../ui/range_field.tsx";
import { ConditionFields } from "../filters/condition_fields.tsx";
import {
  anyEvent,
  intervals,
  type Kind,
  maths,
  needsProperty,
  orders,
  type Question,
  ranges,
  type Series,
  seriesMax,
  trendDisplays,
  windows,
} from "./query.ts";

interface FormProps {
  /** As the fields have it. */
  next: Question;
  edit: (question: Question) => void;
  ask: (question: Question) => void;
  /** Whether what is shown is of another question. */
  isEdited: boolean;
}

export function QuestionForm({ next, edit, ask, isEdited }: FormProps) {
  const set = (change: Partial<Question>) => edit({ ...next, ...change });
  const { kind } = next;
  const [id, names] = [useId(), useProjectNames()];
  const lists = { events: `${id}-events`, event: `${id}-event`, person: `${id}-person` };
  return (
    <Form send={() => ask(next)}>
      <Names lists={lists} names={names} />
      <SeriesFields question={next} set={(series) => set({ series })} lists={lists} />
      {kind === "trend" && <TrendFields next={next} set={set} />}
      {kind === "funnel" && <FunnelFields next={next} set={set} />}
      {kind === "retention" && <RetentionFields next={next} set={set} />}
      {kind !== "retention" && <BreakdownFields question={next} set={set} lists={lists} />}
      <ConditionFields
        conditions={next.conditions}
        set={(conditions) => set({ conditions })}
        lists={lists}
        names={names}
      />
      <Button type="submit" kind="primary">
        Show
      </Button>
      {isEdited && <span class="tag">changed since it was shown</span>}
    </Form>
  );
}

interface KindProps {
  next: Question;
  set: (change: Partial<Question>) => void;
}

function TrendFields({ next, set }: KindProps) {
  return (
    <>
      <ChoiceField
        label="Interval"
        value={next.interval}
        set={(interval) => set({ interval })}
        options={intervals}
      />
      <RangeField from={next.range} to={next.to} set={(range, to) => set({ range, to })} options={ranges} />
      <ChoiceField
        label="Shown as"
        value={next.display}
        set={(display) => set({ display })}
        options={withOwn(trendDisplays, next.display)}
      />
      <CheckField
        label="Compare with the time before"
        value={next.compare}
        set={(on) => set({ compare: on })}
      />
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
        options={withOwn(windows, next.window)}
      />
      <ChoiceField
        label="Steps follow"
        value={next.order}
        set={(order) => set({ order })}
        options={withOwn(orders, next.order)}
      />
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
        options={withOwn(columnCounts, String(next.columns))}
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

/** The usual choices, and the current value where it is none of them: a saved question may have any. */
function withOwn(usual: readonly (readonly [string, string])[], own: string) {
  return usual.some(([value]) => value === own) ? usual : [...usual, [own, own] as const];
}

const columnCounts = ["4", "8", "12", "16"].map((count) => [count, count] as const);
const valueCounts = ["6", "10", "25"].map((count) => [count, `The ${count} most frequent`] as const);

/** Ids of the lists of names. */
type NameLists = Readonly<Record<"events" | "event" | "person", string>>;

interface BreakdownProps {
  question: Question;
  set: (change: Partial<Question>) => void;
  lists: NameLists;
}

function BreakdownFields({ question: { breakdown, breakdownType, values }, set, lists }: BreakdownProps) {
  return (
    <>
      <TextField
        label="Break down by property"
        value={breakdown}
        set={(property) => set({ breakdown: property })}
        placeholder="$browser"
        list={lists[breakdownType]}
      />
      {breakdown !== "" && (
        <>
          <ChoiceField
            label="Of"
            value={breakdownType}
            set={(type) => set({ breakdownType: type as Question["breakdownType"] })}
            options={[
              ["event", "The event"],
              ["person", "The person"],
            ]}
          />
          <ChoiceField
            label="Values"
            value={String(values)}
            set={(count) => set({ values: Number(count) })}
            options={withOwn(valueCounts, String(values))}
          />
        </>
      )}
    </>
  );
}

interface SeriesFieldsProps {
  question: Question;
  set: (series: Series[]) => void;
  lists: NameLists;
}

const legends: Readonly<Record<Kind, string>> = {
  trend: "Events",
  funnel: "Steps, in their order",
  retention: "Events",
};

function SeriesFields({ question: { kind, series }, set, lists }: SeriesFieldsProps) {
  const counts = useMaths();
  const most = kind === "retention" ? 2 : seriesMax;
  const least = kind === "trend" ? 1 : 2;
  return (
    <fieldset class="whole">
      <legend>{legends[kind]}</legend>
      {shownSeries(kind, series).map((one, i, all) => (
        <OneSeries
          key={i}
          kind={kind}
          label={labelOf(kind, all.length, i)}
          series={one}
          set={(change) => set(all.map((other, j) => (j === i ? { ...other, ...change } : other)))}
          lists={lists}
          of={all.length > 1 ? ` of event ${i + 1}` : ""}
          counts={counts}
        >
          {all.length > least && (
            <Button
              aria-label={`Remove ${labelOf(kind, all.length, i)}`}
              onClick={() => set(all.filter((_, j) => j !== i))}
            >
              Remove
            </Button>
          )}
        </OneSeries>
      ))}
      {series.length < most && kind !== "retention" && (
        <Button onClick={() => set([...shownSeries(kind, series), anyEvent])}>
          Add {kind === "funnel" ? "step" : "event"}
        </Button>
      )}
    </fieldset>
  );
}

/** A funnel has at least two steps; retention has two events, of the first visit and of the return. */
export function shownSeries(kind: Kind, series: readonly Series[]): Series[] {
  const [first = anyEvent, second] = series;
  if (kind === "retention") return [first, second ?? first];
  return kind === "funnel" && !second ? [first, anyEvent] : [...series];
}

/** What the event at this position is for. */
function labelOf(kind: Kind, count: number, i: number): string {
  if (kind === "funnel") return `Step ${i + 1}`;
  if (kind === "retention") return i === 0 ? "Did" : "Came back and did";
  return count > 1 ? `Event ${i + 1}` : "Event";
}

interface OneSeriesProps {
  kind: Kind;
  label: string;
  series: Series;
  set: (change: Partial<Series>) => void;
  lists: NameLists;
  /** Added to the labels of its fields, where there are several events. */
  of: string;
  /** What can be counted. */
  counts: readonly (readonly [string, string])[];
  children: ComponentChildren;
}

function OneSeries({ kind, label, series, set, lists, of, counts, children }: OneSeriesProps) {
  const { event, math, property } = series;
  return (
    <div class="form series">
      <TextField
        label={label}
        value={event}
        set={(name) => set({ event: name })}
        placeholder="any event"
        list={lists.events}
      />
      {kind === "trend" && (
        <ChoiceField
          label={`Count${of}`}
          value={math}
          set={(chosen) => set({ math: chosen })}
          options={withOwn(counts, math)}
        />
      )}
      {kind === "trend" && needsProperty(math) && (
        <TextField
          label={`Property${of}`}
          value={property}
          set={(name) => set({ property: name })}
          list={lists.event}
          required
        />
      )}
      {children}
    </div>
  );
}

/** What can be counted, with the project's types of groups. */
function useMaths(): readonly (readonly [string, string])[] {
  const { api, home } = useSession();
  const seesGroups = useAllowed("group:read");
  const types = useLoaded(
    async (signal) =>
      seesGroups
        ? await api.get<{ group_type: string; group_type_index: number }[]>(
            `${home}/groups_types/`,
            {},
            signal,
          )
        : [],
    [home],
  );
  const groups = (types.value ?? []).map(
    ({ group_type, group_type_index }) =>
      [`unique_group:${group_type_index}`, `Groups: ${group_type}`] as const,
  );
  return [...maths, ...groups];
}

/** Names that are offered while somebody types: of the whole project, events with how many there were. */
function Names({ lists, names }: { lists: NameLists; names: ProjectNames }) {
  const { events, event, person } = names;
  return (
    <>
      <datalist id={lists.events}>
        {events.map(({ name, volume_30_day }) => (
          <option key={name} value={name} label={`${numberText(volume_30_day)} in 30 days`} />
        ))}
      </datalist>
      {(["event", "person"] as const).map((type) => (
        <datalist key={type} id={lists[type]}>
          {(type === "event" ? event : person).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
    </>
  );
}
