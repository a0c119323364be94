// The lines of the browser's console, and the requests, in a recording.

import { type Fields, toFields, toList, toNumber, toText } from "../values.ts";
import type { Windows } from "./snapshots.ts";

interface LogLine {
  /** Milliseconds since 1970. */
  at: number;
  level: string;
  text: string;
}

export interface Recorded {
  logs: LogLine[];
  requests: ReturnType<typeof toRequest>[];
}

/** rrweb's type of plugins' events, and the names of the plugins. */
const pluginEvent = 6;
const [logPlugin, requestPlugin] = [/^rrweb\/console@/, /^rrweb\/network@/];

/** Lines and requests of all windows, in the order of their times. */
export function recordedIn(windows: Windows): Recorded {
  const found: Recorded = { logs: [], requests: [] };
  for (const events of windows.values()) {
    for (const { type, timestamp, data } of events) {
      if (type !== pluginEvent) continue;
      const { plugin, payload } = toFields(data);
      if (logPlugin.test(String(plugin))) found.logs.push(toLogLine(timestamp, toFields(payload)));
      if (!requestPlugin.test(String(plugin))) continue;
      for (const item of toList(toFields(payload)["requests"])) {
        found.requests.push(toRequest(timestamp, toFields(item)));
      }
    }
  }
  const byTime = (left: { at: number }, right: { at: number }) => left.at - right.at;
  return { logs: found.logs.sort(byTime), requests: found.requests.sort(byTime) };
}

function toLogLine(at: number, { level, payload }: Fields): LogLine {
  return { at, level: toText(level) || "log", text: toList(payload).map(loggedText).join(" ") };
}

/** Recorders write each argument as JSON. */
function loggedText(argument: unknown): string {
  if (typeof argument !== "string") return JSON.stringify(argument) ?? "";
  try {
    const parsed: unknown = JSON.parse(argument);
    return typeof parsed === "string" ? parsed : argument;
  } catch {
    return argument;
  }
}

function toRequest(at: number, fields: Fields) {
  const { name, url, method, responseStatus, status, duration, timestamp } = fields;
  return {
    at: toNumber(timestamp) ?? at,
    method: toText(method) || "GET",
    url: toText(name) || toText(url),
    // Browsers report a status of 0 where they may not show the status.

    /** undefined where it was not recorded. */
    status: toNumber(responseStatus) || toNumber(status) || undefined,
    ms: toNumber(duration),
  };
}
