// Passes: work over all projects that one process does at a time. Each is a lease queue of one row in `passes`.

import { failuresLogged } from "../../work/interval.ts";
import { storageLimits } from "../limits.ts";
import type { Uses } from "../services.ts";
import { type ClaimedJob, LeaseQueue } from "./lease_queue.ts";
import type { PostgresFragment } from "./postgres.ts";

export interface ClaimedPass extends ClaimedJob {
  /** Event retention only: the moment since which files may hold deleted rows. */
  masked_since: Date | null;
}

interface PassOptions extends Uses<"sql" | "clock" | "log"> {
  id: "deletions of persons" | "deletions of recordings" | "event retention";
  name: string;
  pollMs: number;
  /** Whether there is work; a pass that ended has left none. `q` is the row. */
  due: (now: number) => PostgresFragment;
  /**
   * Makes the pass, which may be repeated after any of its statements. False, or an error, which is logged once until
   * a pass works again: it is due once its claim has expired.
   */
  pass: (claimed: ClaimedPass, signal: AbortSignal) => Promise<boolean>;
}

export function openPass({ id, due, pass, ...options }: PassOptions): LeaseQueue<ClaimedPass> {
  const { sql, clock, name, log } = options;
  const logged = failuresLogged(name, log);
  return new LeaseQueue<ClaimedPass>({
    ...options,
    atOnceMax: 1,
    leaseMs: storageLimits.passLeaseMs,
    beatMs: storageLimits.passBeatMs,
    rows: (now) => ({
      table: "passes",
      claim: "owner",
      until: "leased_until",
      ids: sql`text[]`,
      joins: sql``,
      project: sql`0`,
      weight: sql`1`,
      due: sql`q.id = ${id} AND ${due(now)}`,
      order: sql`id`,
      kept: sql`true`,
      set: sql``,
      shown: sql`q.id, 0 AS project_id, q.masked_since`,
    }),
    attempt: async (claimed, { signal, end }) => {
      const began = new Date(clock.now());
      if (!(await logged(() => pass(claimed, signal), signal))) return;
      await end(
        () => sql`
          UPDATE passes SET owner = NULL, leased_until = NULL, passed_at = ${began}
          WHERE id = ${id} AND owner = ${claimed.claim}`,
      );
    },
  });
}
