// Recordings as a browser sends them, made up: a page, some clicks. Never what a real one records.

import { gzipSync } from "node:zlib";
import { projectKey } from "./server.ts";

export interface Piece {
  uuid?: string;
  session: string;
  window?: string;
  distinct_id?: string;
  /** rrweb events. */
  events: object[];
}

/** The body that posthog-js would send to /s/. */
export function bodyOf(...pieces: Piece[]): object[] {
  return pieces.map(
    ({ uuid = crypto.randomUUID(), session, window = "w1", distinct_id = "zoe", events }) => ({
      uuid,
      event: "$snapshot",
      properties: {
        token: projectKey,
        distinct_id,
        $session_id: session,
        $window_id: window,
        $snapshot_bytes: 1,
        $snapshot_data: events,
        $lib: "web",
      },
      offset: 5,
    }),
  );
}

/** As posthog-js compresses a part of an event: gzip's bytes, each written as one character. */
export function compressed(value: unknown): string {
  return gzipSync(JSON.stringify(value)).toString("latin1");
}

export const event = {
  page: (at: number, href: string) => ({ type: 4, data: { href, width: 800, height: 600 }, timestamp: at }),
  whole: (at: number) => ({
    type: 2,
    data: compressed({ node: { id: 1, type: 0, childNodes: [] }, initialOffset: { left: 0, top: 0 } }),
    cv: "2024-10",
    timestamp: at,
  }),
  move: (at: number) => ({
    type: 3,
    data: { source: 1, positions: [{ x: 1, y: 1, id: 1, timeOffset: 0 }] },
    timestamp: at,
  }),
  click: (at: number) => ({ type: 3, data: { source: 2, type: 2, id: 1, x: 1, y: 1 }, timestamp: at }),
  key: (at: number) => ({ type: 3, data: { source: 5, id: 1, text: "a" }, timestamp: at }),
  log: (at: number, level: string) => ({
    type: 6,
    data: { plugin: "rrweb/console@1", payload: { level, trace: [], payload: ["x"] } },
    timestamp: at,
  }),
};
