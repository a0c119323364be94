// Deletes expired events, in one process at a time: checks every minute whether a pass is due: every hour, after
// midnight (UTC), and once after a start or a change of a project's retention.

import { newUuid } from "../core/id.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { Uses } from "../storage/services.ts";
import { intervalWorker } from "../work/interval.ts";
import { SteadyClock } from "./expiry.ts";
import { retentionLimits } from "./limits.ts";
import { expireEvents } from "./pass.ts";

interface EventRetentionOptions extends Uses<"sql" | "clickhouse" | "clock" | "log"> {
  metrics: Metrics;
  /**
   * After how many days all events expire; a project may have fewer. Undefined: only projects with their own retention.
   */
  retentionDays: number | undefined;
  /** Called after events were deleted. */
  onExpired?: () => void;
}

export function openEventRetention({ metrics, onExpired = () => {}, ...options }: EventRetentionOptions) {
  const { clock, log } = options;
  const counter = metrics.registry.counter(
    "sluice_events_expired_total",
    "Stored rows of events deleted because they are older than EVENT_RETENTION_DAYS, or their project's own retention.",
  );
  const stop = new AbortController();
  const expired = (events: number) => {
    counter.add(events);
    onExpired();
  };
  const parts = { ...options, owner: newUuid(), expired, stopping: stop.signal };
  let waits = 0;
  // A server starts with the retention of its settings, which may be new.
  let atOnce = true;

  const poll = async (): Promise<void> => {
    const looked = await expireEvents({ ...parts, atOnce }).catch((thrown: unknown) => {
      // The pass was stopped; the next process continues.
      if (stop.signal.aborted) return undefined;
      throw thrown;
    });
    if (!looked) return;
    if (looked.is === "passed") {
      atOnce = false;
      const { events, sessions, rewritten } = looked;
      const level = events + sessions + rewritten > 0 ? "info" : "debug";
      log[level]("looked for expired events", { deleted: events, sessions, rewritten_partitions: rewritten });
    }
    waits = looked.is === "waiting" ? waits + 1 : 0;
    if (looked.is === "waiting" && waits % retentionLimits.expiryWaitsMax === 0) {
      const { reason } = looked;
      log.warn("expired events wait: ClickHouse has not finished earlier deletions", { reason });
    }
  };

  const steady = new SteadyClock(clock);
  const pollSteadily = async () => void (steady.isSteady() && (await poll()));
  const worker = intervalWorker(retentionLimits.expiryPollMs, "deleting expired events", pollSteadily, log);
  /** Resolves when no work is left here; ClickHouse finishes the statement it has. */
  const close = async () => {
    stop.abort();
    await worker.close();
  };
  return { ...worker, close };
}
