// A recording, read page by page: rrweb's events, by browser window.

import { toFields } from "../values.ts";

export interface RecordedEvent {
  type: number;
  timestamp: number;
  data: unknown;
}

export type Windows = Map<string, RecordedEvent[]>;

export interface SnapshotPage {
  snapshot_data_by_window_id: Record<string, RecordedEvent[]>;
  next: string | null;
}

/** Pages that are read, of a few megabytes each: with more, a browser runs out of memory. */
const pagesMax = 25;

/** @param read reads a page by its path. */
export async function readSnapshots(
  path: string,
  read: (path: string) => Promise<SnapshotPage>,
): Promise<{ windows: Windows; isWhole: boolean }> {
  const windows: Windows = new Map();
  let next: string | null = path;
  for (let page = 0; next !== null && page < pagesMax; page++) {
    const reply: SnapshotPage = await read(next);
    for (const [window, events] of Object.entries(reply.snapshot_data_by_window_id)) {
      const sameWindow = windows.get(window);
      if (sameWindow) for (const event of events) sameWindow.push(event);
      else windows.set(window, [...events]);
    }
    // Links contain the server's configured address, which may not be the one the browser uses.
    const url = reply.next === null ? null : new URL(reply.next);
    next = url && url.pathname + url.search;
  }
  for (const events of windows.values()) {
    events.sort((left, right) => left.timestamp - right.timestamp);
    // A recorder that wakes up marks when it fell asleep, before there was a page.
    const begin = events.findIndex(({ type, data }) => type !== 5 || toFields(data)["tag"] === "left_out");
    events.splice(0, Math.max(0, begin));
  }
  return { windows, isWhole: next === null };
}

/** Messages between the console and the frame with the player. */
export type PlayerMessage =
  | { kind: "ready" }
  | { kind: "show"; windows: Windows; isWhole: boolean }
  | { kind: "problem"; text: string }
  /** The player goes to a moment, in ms since 1970. */
  | { kind: "seek"; at: number }
  /** A key that was pressed beside the player. */
  | { kind: "press"; key: string }
  /** The moment at which the player was stopped, or to which it went. */
  | { kind: "time"; at: number };

/** When the first of a recording's windows begins, in ms since 1970. */
export function findBegin(windows: Windows): number {
  const firsts = [...windows.values()].flatMap(([first]) => first?.timestamp ?? []);
  return firsts.length > 0 ? Math.min(...firsts) : 0;
}
