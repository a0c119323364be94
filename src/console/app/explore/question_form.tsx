// The fields of a question: its events, what is counted of each, over which time, by which property.

import { type ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useLoaded } from "../session/use_loaded.ts";
import { Button, CheckField, ChoiceField, Form, TextField } from "../ui/parts.tsx";
import {
  anyEvent,
  intervals,
  type Kind,
  maths,
  needsProperty,
  type Question,
  ranges,
  type Series,
  seriesMax,
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
  return (
    <Form send={() => ask(next)}>
      <SeriesFields question={next} set={(series) => set({ series })} />
      {kind !== "funnel" && (
        <ChoiceField
          label={kind === "retention" ? "Period" : "Interval"}
          value={next.interval}
          set={(interval) => set({ interval })}
          options={intervals}
        />
      )}
      {kind !== "retention" && (
        <ChoiceField
          label="Time range"
          value={next.range}
          set={(range) => set({ range })}
          options={withOwn(ranges, next.range)}
        />
      )}
      {kind === "retention" && (
        <ChoiceField
          label="Who is counted"
          value={String(next.first)}
          set={(first) => set({ first: first === "true" })}
          options={[
            ["false", "Everybody active in a period"],
            ["true", "Only their first time ever"],
          ]}
        />
      )}
      {kind === "trend" && <BreakdownFields question={next} set={set} />}
      <Button type="submit" kind="primary">
        Show
      </Button>
      {isEdited && <span class="tag">changed since it was shown</span>}
    </Form>
  );
}

/** The usual choices, and the current value where it is none of them: a saved question may have any. */
function withOwn(usual: readonly (readonly [string, string])[], own: string) {
  return usual.some(([value]) => value === own) ? usual : [...usual, [own, own] as const];
}

const valueCounts = ["6", "10", "25"].map((count) => [count, `The ${count} most frequent`] as const);

function BreakdownFields({
  question,
  set,
}: {
  question: Question;
  set: (change: Partial<Question>) => void;
}) {
  const { breakdown, values, compare } = question;
  return (
    <>
      <TextField
        label="Break down by property"
        value={breakdown}
        set={(property) => set({ breakdown: property })}
        placeholder="$browser"
      />
      {breakdown !== "" && (
        <ChoiceField
          label="Values"
          value={String(values)}
          set={(count) => set({ values: Number(count) })}
          options={withOwn(valueCounts, String(values))}
        />
      )}
      <CheckField label="Compare with the time before" value={compare} set={(on) => set({ compare: on })} />
    </>
  );
}

interface SeriesFieldsProps {
  question: Question;
  set: (series: Series[]) => void;
}

const legends: Readonly<Record<Kind, string>> = {
  trend: "Events",
  funnel: "Steps, in their order",
  retention: "Events",
};

function SeriesFields({ question: { kind, series }, set }: SeriesFieldsProps) {
  const known = useId();
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
          known={known}
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
      <KnownEvents id={known} />
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
  known: string;
  /** Added to the labels of its fields, where there are several events. */
  of: string;
  /** What can be counted. */
  counts: readonly (readonly [string, string])[];
  children: ComponentChildren;
}

function OneSeries({ kind, label, series, set, known, of, counts, children }: OneSeriesProps) {
  const { event, math, property } = series;
  return (
    <div class="form series">
      <TextField
        label={label}
        value={event}
        set={(name) => set({ event: name })}
        placeholder="any event"
        list={known}
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

/** Names of recent events, offered while somebody types. */
function KnownEvents({ id }: { id: string }) {
  const { api, home } = useSession();
  const recent = useLoaded(
    (signal) => api.get<ListReply<{ event: string }>>(`${home}/events/`, { limit: 200 }, signal),
    [home],
  );
  const names = [...new Set(recent.value?.results.map(({ event }) => event))].toSorted();
  return (
    <datalist id={id}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
