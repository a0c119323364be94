// Deletes expired events, in one process at a time: checks every minute whether a pass is due, which is every hour,
// after midnight (UTC), and once after a start or a change of a project's retention.

import type { Metrics } from "../http/metrics/metrics.ts";
import { openPass } from "../storage/postgres/passes.ts";
import type { Uses } from "../storage/services.ts";
import { SteadyClock } from "./expiry.ts";
import { retentionLimits } from "./limits.ts";
import { expireEvents } from "./pass.ts";
import { isPassDue } from "./pass_store.ts";

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
  const { sql, clock, log } = options;
  const counter = metrics.registry.counter(
    "sluice_events_expired_total",
    "Stored rows of events deleted because they are older than EVENT_RETENTION_DAYS, or their project's own retention.",
  );
  const expired = (events: number) => {
    counter.add(events);
    onExpired();
  };
  const steady = new SteadyClock(clock);
  let waits = 0;
  // A server starts with the retention of its settings, which may be new.
  let atOnce = true;
  return openPass({
    ...options,
    id: "event retention",
    name: "deleting expired events",
    pollMs: retentionLimits.expiryPollMs,
    due: (now) => sql`${steady.isSteady()}::boolean AND (${atOnce}::boolean OR ${isPassDue(sql, now)})`,
    pass: async ({ masked_since }, stopping) => {
      const looked = await expireEvents({ ...options, expired, stopping }, masked_since);
      if (looked.is === "waiting") {
        const { reason } = looked;
        if (++waits % retentionLimits.expiryWaitsMax === 0)
          log.warn("expired events wait: ClickHouse has not finished earlier deletions", { reason });
        return false;
      }
      atOnce = false;
      waits = 0;
      const { events, sessions, rewritten } = looked;
      const level = events + sessions + rewritten > 0 ? "info" : "debug";
      log[level]("looked for expired events", { deleted: events, sessions, rewritten_partitions: rewritten });
      return true;
    },
  });
}
