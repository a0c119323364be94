// The stream of what happens now: messages of the server as they come, and a new connection when one ends; the newest
// events, from it and from before.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useSession } from "../session/session.ts";
import { useGet } from "../session/use_loaded.ts";
import type { FiguresMessage } from "./rates.ts";

interface EventMessage {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: string;
  properties_bytes: number;
  timestamp: string;
  created_at: string;
}

interface Followers {
  /** The first message: whether figures follow. */
  open?: (message: { figures: boolean }) => void;
  figures?: (message: FiguresMessage) => void;
  events?: (messages: EventMessage[]) => void;
}

/** The pause before a stream that ended is opened again, in ms. */
const reconnectMs = 2000;

export type Connection = "connecting" | "live" | "unreachable";

/** Follows the project until the page is left. `filter` is as in the list of events. */
function useStream(filter: { event: string; distinct_id: string }, followers: Followers): Connection {
  const { api, home } = useSession();
  const [connection, setConnection] = useState<Connection>("connecting");
  const { event, distinct_id } = filter;
  useEffect(() => {
    const stop = new AbortController();
    const path = `/console/stream/${home.split("/").at(-1)}`;
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          const reply = await api.open(path, { event, distinct_id }, stop.signal);
          setConnection("live");
          await readMessages(reply, followers);
        } catch {
          if (!stop.signal.aborted) setConnection("unreachable");
        }
        await new Promise((resolve) => setTimeout(resolve, reconnectMs));
      }
    };
    void follow();
    return () => stop.abort();
  }, [home, event, distinct_id]);
  return connection;
}

async function readMessages(reply: Response, followers: Followers): Promise<void> {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) return;
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop() ?? "";
    for (const message of messages) dispatch(message, followers);
  }
}

function dispatch(message: string, { open, figures, events }: Followers): void {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
  if (data === undefined) return;
  if (name === "open") open?.(JSON.parse(data) as { figures: boolean });
  if (name === "figures") figures?.(JSON.parse(data) as FiguresMessage);
  if (name === "events") events?.(JSON.parse(data) as EventMessage[]);
}

export interface ShownEvent extends Omit<EventMessage, "properties" | "properties_bytes"> {
  /** undefined when they were too long for the stream. */
  properties: Record<string, unknown> | undefined;
}

/** An event of the stream, which has times in ClickHouse's format. */
function shownEvent({ properties, properties_bytes, ...rest }: EventMessage): ShownEvent {
  const hasProperties = properties !== "" || properties_bytes === 0;
  return {
    ...rest,
    timestamp: toIso(rest.timestamp),
    created_at: toIso(rest.created_at),
    properties: hasProperties ? (JSON.parse(properties || "{}") as Record<string, unknown>) : undefined,
  };
}

interface FollowOptions extends Omit<Followers, "events"> {
  max: number;
  isPaused?: boolean;
}

/** The newest events: those that arrived since the page was opened, and those from before. */
export function useNewest(filter: { event: string; distinct_id: string }, options: FollowOptions) {
  const { max, isPaused = false, ...followers } = options;
  const of = JSON.stringify(filter);
  const [state, setState] = useState({ of, events: noEvents });
  const arrived = state.of === of ? state.events : noEvents;
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const { value, isOld, loading, error } = useGet<ListReply<ShownEvent>>("events/", {
    ...filter,
    limit: Math.min(max, earlierMax),
  });
  const merge = (...lists: (readonly ShownEvent[])[]) => withoutRepeats(lists.flat()).slice(0, max);
  const connection = useStream(filter, {
    ...followers,
    events: (messages) => {
      if (paused.current) return;
      setState((before) => {
        const known = before.of === of ? before.events : noEvents;
        return { of, events: merge(messages.map(shownEvent), known) };
      });
    },
  });
  const earlier = isOld ? undefined : value?.results;
  return { events: merge(arrived, earlier ?? []), arrived, connection, loading, error };
}

const noEvents: readonly ShownEvent[] = [];
/** Events from before the page was opened. */
const earlierMax = 20;

/** An event may come twice: from the list and from the stream. */
function withoutRepeats(events: readonly ShownEvent[]): ShownEvent[] {
  return [...new Map(events.toReversed().map((event) => [event.uuid, event])).values()].toReversed();
}

function toIso(text: string): string {
  return `${text.replace(" ", "T")}Z`;
}
