// Puts the parts of the console together.

import type { MetricsRead } from "../http/metrics/metrics.ts";
import type { Uses } from "../storage/services.ts";
import { readWatermarks } from "../storage/watermark.ts";
import { computeFigures } from "./figures.ts";
import { openSignIn } from "./sign_in.ts";
import { newestEvents } from "./store.ts";
import { openStreams } from "./stream.ts";

export interface ConsoleOptions extends Uses<"sql" | "clickhouse" | "clock" | "log"> {
  /** The metrics of each process of this server. */
  metrics: () => Promise<MetricsRead[]>;
}

export type OpenedConsole = ReturnType<typeof openConsole>;

export function openConsole({ sql, clickhouse, metrics, clock, log }: ConsoleOptions) {
  const behind = async (at: number): Promise<number | null> => {
    try {
      return at - (await readWatermarks(sql, at)).through;
    } catch {
      return null;
    }
  };
  const figures = async () => {
    const at = clock.now();
    const [readings, behind_ms] = await Promise.all([metrics(), behind(at)]);
    return computeFigures(readings, at, behind_ms);
  };
  const newest = (...args: Parameters<typeof newestEvents> extends [unknown, ...infer Rest] ? Rest : never) =>
    newestEvents(clickhouse, ...args);
  return { signIn: openSignIn(clock), streams: openStreams({ figures, newest, clock, log }) };
}
