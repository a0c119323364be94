// Shows beside a recording: the events of its session, its console and its requests, each with a link to its moment.

import { useState } from "preact/hooks";
import { eventText } from "../live/event_text.ts";
import type { ShownEvent } from "../live/stream.ts";
import type { ListReply } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { useGet } from "../session/use_loaded.ts";
import { clockTimeText, durationText, shortText, timeText } from "../ui/format.ts";
import { WhenLoaded } from "../ui/parts.tsx";
import type { Recorded } from "./recorded.ts";

interface BesideProps {
  recording: { id: string; start_time: string; recording_duration: number };
  recorded: Recorded | undefined;
  seek: (at: number) => void;
}

/** The session's events, its console's lines, and its requests. */
export function Beside({ recording, recorded, seek }: BesideProps) {
  const seesEvents = useAllowed("query:read");
  const [chosen, choose] = useState(seesEvents ? "events" : "console");
  const { logs = [], requests = [] } = recorded ?? {};
  const tabs = [
    ...(seesEvents ? [["events", "Events"] as const] : []),
    ["console", `Console (${logs.length})`] as const,
    ["network", `Network (${requests.length})`] as const,
  ];
  return (
    <section class="card">
      <h2 class="visually-hidden">In this session</h2>
      <div class="tabs" role="group" aria-label="What happened in this session">
        {tabs.map(([name, title]) => (
          <button key={name} type="button" aria-pressed={name === chosen} onClick={() => choose(name)}>
            {title}
          </button>
        ))}
      </div>
      {chosen === "events" && <SessionEvents {...recording} seek={seek} />}
      {chosen === "console" && (
        <Moments
          empty="Nothing of the browser’s console was recorded."
          seek={seek}
          moments={logs.map(({ at, level, text }) => ({ at, name: level, text, isBad: level === "error" }))}
        />
      )}
      {chosen === "network" && (
        <Moments
          empty="No requests were recorded."
          seek={seek}
          moments={requests.map(({ at, method, url, status, ms }) => ({
            at,
            name: `${method} ${status ?? ""}`.trim(),
            text: `${url}${ms === undefined ? "" : ` · ${durationText(ms / 1000)}`}`,
            isBad: status !== undefined && status >= 400,
          }))}
        />
      )}
    </section>
  );
}

interface Moment {
  at: number;
  name: string;
  text: string;
  isBad?: boolean;
  uuid?: string;
}

const momentsMax = 500;
const lettersMax = 1000;

/** Moments with links to their time in the player. */
function Moments({ moments, empty, seek }: { moments: Moment[]; empty: string; seek: BesideProps["seek"] }) {
  if (moments.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <>
      <ul class="events">
        {moments.slice(0, momentsMax).map(({ at, name, text, isBad, uuid }, i) => {
          const time = new Date(at).toISOString();
          return (
            <li key={uuid ?? i}>
              <button type="button" class={isBad ? "event bad" : "event"} onClick={() => seek(at)}>
                <span>
                  <strong>{name}</strong> {shortText(text, lettersMax)}
                </span>
                <time dateTime={time} title={timeText(time)}>
                  {clockTimeText(time)}
                </time>
              </button>
            </li>
          );
        })}
      </ul>
      {moments.length > momentsMax && <p class="quiet">and {moments.length - momentsMax} more</p>}
    </>
  );
}

/** How long before and after a recording its session's events are read, in ms. */
const besideMs = 3_600_000;

/** The first events of the session. A time is asked for, since otherwise all events of the project are read. */
function SessionEvents(recording: BesideProps["recording"] & Pick<BesideProps, "seek">) {
  const { id, start_time, recording_duration, seek } = recording;
  const properties = JSON.stringify([{ key: "$session_id", value: id, operator: "exact", type: "event" }]);
  const from = new Date(start_time).getTime() - besideMs;
  const [after, before] = [from, from + recording_duration * 1000 + 2 * besideMs].map((at) =>
    new Date(at).toISOString(),
  );
  const query = { properties, after, before, orderBy: '["timestamp"]', limit: momentsMax };
  const loaded = useGet<ListReply<ShownEvent>>("events/", query);
  return (
    <WhenLoaded loaded={loaded}>
      {({ results }) => (
        <Moments
          empty="No events belong to this session."
          seek={seek}
          moments={results.map(({ uuid, event, timestamp, properties: said }) => ({
            uuid,
            at: new Date(timestamp).getTime(),
            name: event,
            text: eventText(event, said ?? {}),
          }))}
        />
      )}
    </WhenLoaded>
  );
}
