// Events as the console lists them: newest first, each with its details.

import { useState } from "preact/hooks";
import { useAllowed } from "../session/session.ts";
import { useGet } from "../session/use_loaded.ts";
import { timeText } from "../ui/format.ts";
import { PageLink, Time } from "../ui/parts.tsx";
import { Facts } from "../ui/table.tsx";
import { Properties } from "../ui/tree.tsx";
import { isFields } from "../values.ts";
import { eventText } from "./event_text.ts";
import type { ShownEvent } from "./stream.ts";

export function EventList({ events, empty }: { events: readonly ShownEvent[]; empty: string }) {
  const [open, setOpen] = useState<string>();
  if (events.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <ul class="events">
      {events.map((event) => (
        <li key={event.uuid}>
          <button
            type="button"
            class="event"
            aria-expanded={open === event.uuid}
            onClick={() => setOpen(open === event.uuid ? undefined : event.uuid)}
          >
            <span>
              <strong>{event.event}</strong> {eventText(event.event, event.properties ?? {})}
            </span>
            <span class="who">{event.distinct_id}</span>
            <Time at={event.timestamp} />
          </button>
          {open === event.uuid && <OpenedEvent event={event} />}
        </li>
      ))}
    </ul>
  );
}

function OpenedEvent({ event }: { event: ShownEvent }) {
  const { properties = {}, distinct_id } = event;
  const session = properties["$session_id"];
  const groups = properties["$groups"];
  const ofGroup = ([type, key]: [string, unknown]) => (
    <span key={type} class="tag">
      {type}:{" "}
      <PageLink to={["groups", [type, String(key)]]} needs="group:read">
        {String(key)}
      </PageLink>
    </span>
  );
  return (
    <div class="opened">
      <Facts
        of={[
          ["When", timeText(event.timestamp)],
          ["Arrived", timeText(event.created_at)],
          [
            "Person",
            <PageLink to={["persons", [], { distinct_id }]} needs="person:read">
              {distinct_id}
            </PageLink>,
          ],
          ["Session", typeof session === "string" ? <SessionId id={session} /> : undefined],
          ["Groups", isFields(groups) ? Object.entries(groups).map(ofGroup) : undefined],
          ["Id", event.uuid],
        ]}
      />
      {event.properties === undefined ? (
        <p class="quiet">Its properties are too long to be shown here; the API has them.</p>
      ) : (
        <Properties of={properties} />
      )}
    </div>
  );
}

/** The id of a session: a link where it was recorded. */
function SessionId({ id }: { id: string }) {
  const seesRecordings = useAllowed("session_recording:read");
  return seesRecordings ? <RecordedSession id={id} /> : <>{id}</>;
}

function RecordedSession({ id }: { id: string }) {
  const loaded = useGet<{ count: number }>("session_recordings/", toRecordingQuery([id]));
  if (!loaded.value?.count) return <>{id}</>;
  return <PageLink to={["recordings", [id]]}>{id}, recorded</PageLink>;
}

/** The API's parameters for the recordings of these sessions. */
export function toRecordingQuery(ids: readonly string[]) {
  return { session_ids: JSON.stringify(ids), limit: Math.max(1, ids.length) };
}
