// Events as the console lists them: newest first, each to be opened.

import { useState } from "preact/hooks";
import { hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { agoText, timeText } from "../ui/format.ts";
import { Tree } from "../ui/tree.tsx";
import type { EventMessage } from "./messages.ts";

export interface ShownEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  /** undefined when they were too long for the stream. */
  properties: Record<string, unknown> | undefined;
  timestamp: string;
  created_at: string;
}

/** An event of the stream, which has times in ClickHouse's format. */
export function shownEvent({ properties, properties_bytes, ...rest }: EventMessage): ShownEvent {
  const known = properties !== "" || properties_bytes === 0;
  return {
    ...rest,
    timestamp: isoOfStored(rest.timestamp),
    created_at: isoOfStored(rest.created_at),
    properties: known ? (JSON.parse(properties || "{}") as Record<string, unknown>) : undefined,
  };
}

/** The same event may come twice: from the list and from the stream. */
export function withoutRepeats(events: readonly ShownEvent[]): ShownEvent[] {
  return [...new Map(events.toReversed().map((event) => [event.uuid, event])).values()].toReversed();
}

function isoOfStored(text: string): string {
  return `${text.replace(" ", "T")}Z`;
}

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
            <strong>{event.event}</strong>
            <span class="who">{event.distinct_id}</span>
            <time dateTime={event.timestamp} title={timeText(event.timestamp)}>
              {agoText(event.timestamp)}
            </time>
          </button>
          {open === event.uuid && <OpenedEvent event={event} />}
        </li>
      ))}
    </ul>
  );
}

function OpenedEvent({ event }: { event: ShownEvent }) {
  const { project } = useSession();
  const { properties = {}, distinct_id } = event;
  const session = properties["$session_id"];
  const groups = properties["$groups"];
  const seesPersons = useAllowed("person:read");
  const seesRecordings = useAllowed("session_recording:read");
  const seesGroups = useAllowed("group:read");
  return (
    <div class="opened">
      <dl class="facts">
        <dt>When</dt>
        <dd>{timeText(event.timestamp)}</dd>
        <dt>Arrived</dt>
        <dd>{timeText(event.created_at)}</dd>
        <dt>Person</dt>
        <dd>
          {seesPersons ? (
            <a href={hrefOf(project.id, "persons", [], { distinct_id })}>{distinct_id}</a>
          ) : (
            distinct_id
          )}
        </dd>
        {typeof session === "string" && (
          <>
            <dt>Session</dt>
            <dd>
              {seesRecordings ? <a href={hrefOf(project.id, "recordings", [session])}>{session}</a> : session}
            </dd>
          </>
        )}
        {typeof groups === "object" && groups !== null && (
          <>
            <dt>Groups</dt>
            <dd>
              {Object.entries(groups).map(([type, key]) => (
                <span key={type} class="tag">
                  {type}:{" "}
                  {seesGroups ? (
                    <a href={hrefOf(project.id, "groups", [], { type, key: String(key) })}>{String(key)}</a>
                  ) : (
                    String(key)
                  )}
                </span>
              ))}
            </dd>
          </>
        )}
        <dt>Id</dt>
        <dd>{event.uuid}</dd>
      </dl>
      {event.properties === undefined ? (
        <p class="quiet">Its properties are too long to be shown here; the API has them.</p>
      ) : (
        <Tree name="properties" value={properties} />
      )}
    </div>
  );
}
