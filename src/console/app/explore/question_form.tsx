// The fields of a question: its events, what is counted, over which time, by which property.

import { useId, useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useSession } from "../session/session.ts";
import { useLoaded } from "../session/use_loaded.ts";
import { Button, CheckField, ChoiceField, Form, TextField } from "../ui/parts.tsx";
import { intervals, maths, type Question, ranges, seriesMax } from "./query.ts";

interface FormProps {
  question: Question;
  ask: (question: Question) => void;
}

export function QuestionForm({ question, ask }: FormProps) {
  const [next, setNext] = useState(question);
  const set = (change: Partial<Question>) => setNext({ ...next, ...change });
  const known = useId();
  const { kind } = next;
  return (
    <Form send={() => ask(next)}>
      <EventFields question={next} set={set} known={known} />
      <KnownEvents id={known} />
      {kind === "trend" && (
        <ChoiceField label="Count" value={next.math} set={(math) => set({ math })} options={maths} />
      )}
      {kind !== "funnel" && (
        <ChoiceField
          label="By"
          value={next.interval}
          set={(interval) => set({ interval })}
          options={intervals}
        />
      )}
      {kind !== "retention" && (
        <>
          <ChoiceField label="Time" value={next.range} set={(range) => set({ range })} options={ranges} />
          <TextField
            label="Broken down by property"
            value={next.breakdown}
            set={(breakdown) => set({ breakdown })}
            placeholder="$browser"
          />
        </>
      )}
      {kind === "trend" && (
        <CheckField
          label="Compare with the time before"
          value={next.compare}
          set={(compare) => set({ compare })}
        />
      )}
      <Button type="submit" kind="primary">
        Show
      </Button>
    </Form>
  );
}

interface EventFieldsProps {
  question: Question;
  set: (change: Partial<Question>) => void;
  known: string;
}

/** What the place of an event in the question means. */
function labelOf({ kind, events }: Question, i: number): string {
  if (kind === "funnel") return `Step ${i + 1}`;
  if (kind === "retention") return i === 0 ? "Came first by" : "Came back by";
  return events.length > 1 ? `Event ${i + 1}` : "Event";
}

function EventFields({ question, set, known }: EventFieldsProps) {
  const { kind, events } = question;
  const most = kind === "retention" ? 2 : seriesMax;
  const least = kind === "funnel" ? 2 : 1;
  return (
    <fieldset class="whole">
      <legend>{kind === "funnel" ? "Steps, in their order" : "Events"}</legend>
      <div class="form">
        {events.slice(0, most).map((event, i) => (
          <TextField
            key={i}
            label={labelOf(question, i)}
            value={event}
            set={(name) => set({ events: events.map((one, j) => (j === i ? name : one)) })}
            placeholder="any event"
            list={known}
          />
        ))}
        {events.length < most && (
          <Button onClick={() => set({ events: [...events, ""] })}>
            Add {kind === "funnel" ? "step" : "event"}
          </Button>
        )}
        {events.length > least && (
          <Button onClick={() => set({ events: events.slice(0, -1) })}>Remove last</Button>
        )}
      </div>
    </fieldset>
  );
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
