// Projects of a running server, each with the events of one question.

import { expect } from "bun:test";
import { ask } from "./ask.ts";
import { rested } from "./server.ts";

export interface Project {
  id: number;
  token: string;
  /** Sends events and waits until they and their sessions can be read. */
  send: (events: readonly object[]) => Promise<void>;
  /** The reply to a query, which must be a 200. */
  reply: (query: object) => Promise<Record<string, unknown>>;
  query: <Row = unknown[]>(query: object) => Promise<Row[]>;
}

export async function openProject(
  app: { url: string },
  name: string,
  events: readonly object[] = [],
  settings: object = {},
): Promise<Project> {
  const made = await ask(app, "POST", "/api/projects/", { name });
  expect([made.status, made.body["detail"]]).toEqual([201, undefined]);
  const { id, api_token: token } = made.body as { id: number; api_token: string };
  if (Object.keys(settings).length > 0)
    expect((await ask(app, "PATCH", `/api/projects/${id}/`, settings)).status).toBe(200);
  const send = async (batch: readonly object[]) => {
    expect((await ask(app, "POST", "/batch/", { api_key: token, batch }, "")).status).toBe(200);
    await rested(app);
  };
  const reply = async (query: object) => {
    const path = `/api/projects/${id}/query/`;
    const { status, body } = await ask(app, "POST", path, { query, refresh: "force_blocking" });
    expect([status, body["detail"]]).toEqual([200, undefined]);
    return body;
  };
  if (events.length > 0) await send(events);
  return { id, token, send, reply, query: async (query) => (await reply(query))["results"] as never };
}

export const made = (event: string, distinct_id: string, timestamp: string, properties: object = {}) => ({
  event,
  distinct_id,
  timestamp,
  properties,
});
