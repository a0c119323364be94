// Events as a script reads them back, over HTTP.

import { expect } from "bun:test";
import { get, type Listening } from "./server.ts";

export interface ReadEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: Record<string, unknown>;
  timestamp: string;
  person_id: string;
  historical_migration: boolean;
}

/** Newest first, at most 1000. */
export async function readEvents(
  server: Listening,
  filter: Record<string, string> = {},
): Promise<ReadEvent[]> {
  const query = new URLSearchParams({ limit: "1000", ...filter });
  const reply = await get(server, `/api/projects/1/events/?${query}`);
  expect(reply.status).toBe(200);
  return ((await reply.json()) as { results: ReadEvent[] }).results;
}
