// The live page: whether the server keeps up, what it ignored, and the newest events.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useAddress, useGet } from "../session/use_loaded.ts";
import { agoText, capitalized, numberText } from "../ui/format.ts";
import { Form } from "../ui/forms.tsx";
import { useDraft } from "../ui/inputs.tsx";
import { Button, Card, ErrorText, PageHead, WhenLoaded } from "../ui/parts.tsx";
import { Tree } from "../ui/tree.tsx";
import { EventList } from "./event_row.tsx";
import { Fates, FigureCards, ImportCard } from "./figures.tsx";
import { type FiguresMessage, total, withMessage } from "./rates.ts";
import { useNewest } from "./stream.ts";

const shownMax = 50;

export function Live() {
  const { filter, show } = useAddress(shownMax, ["event", "distinct_id"]);
  const { event = "", distinct_id = "" } = filter;
  const followed = { event, distinct_id };
  const { fields, text } = useDraft(followed);
  const [history, setHistory] = useState<readonly FiguresMessage[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [showsFigures, setShowsFigures] = useState<boolean>();
  const { events, connection, loading, error } = useNewest(followed, {
    max: shownMax,
    isPaused,
    open: (message) => setShowsFigures(message.figures),
    figures: (message) => setHistory((before) => withMessage(before, message)),
  });
  const [state, tone] = connections[connection];
  const last = history.at(-1);
  const changes = useThrottled(last ? total(last.ignored) + total(last.warned) : 0);
  // The figures appear with the first events, and the rest of the page with the figures: they would move it.
  const isListed = useRef(false);
  isListed.current ||= !loading;
  const isComplete =
    isListed.current && (last !== undefined || showsFigures === false || connection === "unreachable");
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
          <Form send={() => show({ event: fields.event.trim(), distinct_id: fields.distinct_id.trim() })}>
            {text("event", "Only this event")}
            {text("distinct_id", "Only this distinct id")}
            <Button type="submit">Filter</Button>
            <Button aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              {isPaused ? "Resume" : "Pause"}
            </Button>
          </Form>
          <ErrorText error={error} />
          <EventList events={events} empty={loading ? "Loading …" : "No such events yet."} />
        </Card>
      </div>
      {isListed.current && <FigureCards history={history} />}
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

/** The state of the stream in words, and its colour. */
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

interface WarningRow {
  type: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  details: Record<string, unknown>;
}

const examplesMax = 3;

/** @param seen changes when there may be new ones. */
function WarningCard({ seen }: { seen: number }) {
  const loaded = useGet<
    ListReply<WarningRow> & { types: { type: string; count: number; last_seen: string }[] }
  >("ingestion_warnings/", { limit: 100, after: "-7d" }, seen);
  return (
    <Card title="Ignored and changed events, seven days" wide>
      <WhenLoaded loaded={loaded}>
        {({ types, results }) =>
          types.length === 0 ? (
            <p class="quiet">None: every event was stored as it was sent.</p>
          ) : (
            types.map(({ type, count, last_seen }) => (
              <details key={type} class="reason">
                <summary>
                  <strong title={type}>{capitalized(type.replaceAll("_", " "))}</strong>{" "}
                  <span>{numberText(count)}</span> <span class="quiet">last {agoText(last_seen)}</span>
                </summary>
                <Examples rows={results.filter((row) => row.type === type).slice(0, examplesMax)} />
              </details>
            ))
          )
        }
      </WhenLoaded>
    </Card>
  );
}

function Examples({ rows }: { rows: readonly WarningRow[] }) {
  if (rows.length === 0) return <p class="quiet">Its examples are older than the newest hundred.</p>;
  return (
    <>
      {rows.map(({ event, distinct_id, timestamp, details }, i) => (
        <div key={i} class="opened">
          <p>{String(details["message"] ?? "")}</p>
          <Tree name="example" value={{ event, distinct_id, timestamp, ...details }} />
        </div>
      ))}
    </>
  );
}
