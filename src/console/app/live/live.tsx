// The live page: whether the server keeps up, what it ignored, and the newest events.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ListReply, Query } from "../session/api.ts";
import { useAddress, useGet } from "../session/use_loaded.ts";
import { useDraft } from "../ui/inputs.tsx";
import { Button, Card, ErrorText, Form, PageHead } from "../ui/parts.tsx";
import { EventList, type ShownEvent, shownEvent, withoutRepeats } from "./event_row.tsx";
import { Fates, FigureCards, ImportCard } from "./figures.tsx";
import { type FiguresMessage, total, withMessage } from "./rates.ts";
import { useStream } from "./stream.ts";
import { WarningCard } from "./warnings.tsx";

const shownMax = 50;

const noEvents: readonly ShownEvent[] = [];

export function Live() {
  const { filter, show } = useAddress(shownMax, ["event", "distinct_id"]);
  const { event = "", distinct_id = "" } = filter;
  const followed = { event, distinct_id };
  const filterKey = JSON.stringify(followed);
  const [history, setHistory] = useState<readonly FiguresMessage[]>([]);
  const [paused, setPaused] = useState(false);
  const [arrived, setArrived] = useState({ of: filterKey, events: noEvents });
  const held = useRef(false);
  held.current = paused;
  const [showsFigures, setShowsFigures] = useState<boolean>();
  const connection = useStream(followed, {
    open: (message) => setShowsFigures(message.figures),
    figures: (message) => setHistory((before) => withMessage(before, message)),
    events: (messages) => {
      if (held.current) return;
      setArrived(({ of, events: before }) => {
        const known = of === filterKey ? before : noEvents;
        const events = withoutRepeats([...messages.map(shownEvent), ...known]).slice(0, shownMax);
        return { of: filterKey, events };
      });
    },
  });
  const [state, tone] = connections[connection];
  const last = history.at(-1);
  const changes = useThrottled(last ? total(last.ignored) + total(last.warned) : 0);
  // What is below the figures appears with them: they would move it.
  const isComplete = last !== undefined || showsFigures === false || connection === "unreachable";
  return (
    <>
      <PageHead title="Live">
        <span role="status" class={`status ${tone}`}>
          {state}
        </span>
      </PageHead>
      {showsFigures === false && (
        <p class="quiet">Figures of the whole server are shown to keys with all scopes.</p>
      )}
      <div class="cards newest">
        <Card title="Newest events" wide>
          <Filter filter={filter} show={show}>
            <Button aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? "Resume" : "Pause"}
            </Button>
          </Filter>
          <Newest
            key={filterKey}
            filter={followed}
            arrived={arrived.of === filterKey ? arrived.events : noEvents}
          />
        </Card>
      </div>
      <FigureCards history={history} />
      {isComplete && (
        <div class="cards">
          <ImportCard history={history} />
          {last && <Fates last={last} />}
          <WarningCard seen={changes} />
        </div>
      )}
    </>
  );
}

/** What the page shows of the stream, and its colour. */
const connections = {
  connecting: ["connecting …", ""],
  live: ["live", "good"],
  unreachable: ["the server does not answer: trying again", "bad"],
} as const;

/** The pause between two reloads of the examples, in ms: counters change each second. */
const throttleMs = 10_000;

function useThrottled(value: number): number {
  const [slow, setSlow] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    const timer = setInterval(() => setSlow(latest.current), throttleMs);
    return () => clearInterval(timer);
  }, []);
  return slow;
}

interface FilterProps {
  filter: Readonly<Record<string, string>>;
  show: (filter: Record<string, string>) => void;
  children: ComponentChildren;
}

function Filter({ filter, show, children }: FilterProps) {
  const { fields, text } = useDraft(filter);
  const { event = "", distinct_id = "" } = fields;
  return (
    <Form send={() => show({ event: event.trim(), distinct_id: distinct_id.trim() })}>
      {text("event", "Only this event")}
      {text("distinct_id", "Only this distinct id")}
      <Button type="submit">Filter</Button>
      {children}
    </Form>
  );
}

/** Events from before the page was opened, and those that arrived since. */
function Newest({ filter, arrived }: { filter: Query; arrived: readonly ShownEvent[] }) {
  const earlier = useGet<ListReply<ShownEvent>>("events/", { ...filter, limit: 20 });
  const events = withoutRepeats([...arrived, ...(earlier.value?.results ?? [])]).slice(0, shownMax);
  return (
    <>
      <ErrorText error={earlier.error} />
      <EventList events={events} empty={earlier.loading ? "Loading …" : "No such events yet."} />
    </>
  );
}
