// The stream of what happens now: messages of the server as they come, and a new connection when one ends.

import { useEffect, useState } from "preact/hooks";
import { useSession } from "../session/session.ts";
import type { FiguresMessage } from "./rates.ts";

export interface EventMessage {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: string;
  properties_bytes: number;
  timestamp: string;
  created_at: string;
}

export interface Followers {
  /** The first message: whether figures follow. */
  open?: (message: { figures: boolean }) => void;
  figures?: (message: FiguresMessage) => void;
  events?: (messages: EventMessage[]) => void;
}

/** The pause before a stream that ended is opened again, in ms. */
const reconnectMs = 2000;

export type Connection = "connecting" | "live" | "unreachable";

/** Follows the project until the page is left. `filter` is as in the list of events. */
export function useStream(filter: { event: string; distinct_id: string }, followers: Followers): Connection {
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
