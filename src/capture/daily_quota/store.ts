// Counts of a day's events in Postgres, a row for each project and process. A process writes its own rows only, and
// absolute numbers, so that a statement of unknown outcome can be repeated.

import { arrayText, type Postgres } from "../../storage/postgres/postgres.ts";

export interface DailyCount {
  project_id: number;
  events: number;
}

/** Lets the processes of all servers read each other's counts. */
export type DailyCountSource = ReturnType<typeof dailyCountSource>;

/** @param process_id a uuid of this process; an earlier one of the same server counts among the others. */
export function dailyCountSource(sql: Postgres, process_id: string) {
  return {
    /** Writes this process's counts of a day (YYYY-MM-DD), and deletes those of days before the last. */
    write: async (day: string, counts: readonly DailyCount[]) => {
      const ids = arrayText(counts.map(({ project_id }) => project_id));
      const events = arrayText(counts.map((count) => count.events));
      await sql`
        INSERT INTO daily_event_counts AS c (day, project_id, process_id, events)
        SELECT ${day}::text::date, project_id, ${process_id}::uuid, events
        FROM unnest(${ids}::text::integer[], ${events}::text::bigint[]) AS own(project_id, events)
        ON CONFLICT (day, project_id, process_id) DO UPDATE SET events = greatest(c.events, excluded.events)`;
      await sql`DELETE FROM daily_event_counts WHERE day < ${day}::text::date - 1`;
    },
    /** Reads the counts of all other processes on a day: of these projects, or of all. */
    readOthers: async (day: string, project_ids: readonly number[] | undefined): Promise<DailyCount[]> => {
      const ids = project_ids ? arrayText(project_ids) : null;
      return await sql<DailyCount[]>`
        SELECT project_id, sum(events)::bigint AS events
        FROM daily_event_counts
        WHERE day = ${day}::text::date AND process_id <> ${process_id}::uuid
          AND (${ids}::text IS NULL OR project_id = ANY(${ids}::text::integer[]))
        GROUP BY project_id`;
    },
  };
}
