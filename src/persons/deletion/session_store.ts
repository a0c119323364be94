// Sessions of deleted events. Several persons may have events in one: what the others did there stays.

import { newUuid } from "../../core/id.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { awaitDeletions, deleteListed } from "../../storage/cluster/listed_deletion.ts";
import { sessionOfEvent } from "../../storage/events/property_filter.ts";
import { insertStoredSessions, sessionBytesMax, sessionSettings } from "../../storage/events/sessions.ts";
import { personLimits } from "../limits.ts";
import type { ListedIds } from "../mirror_store.ts";

/** The deletion: rows that arrived until then, in microseconds since 1970. */
interface Moment {
  project_id: number;
  ordered_at: number;
}

/** With all threads, since everything that is stored of the project is read. */
const { max_threads: _, ...settings } = sessionSettings;
const options = { timeoutMs: personLimits.deletionMsMax };

/**
 * Derives the sessions of these persons' events again from all events that stay. These events are still stored, so that
 * a killed attempt finds their sessions again. The list is kept for the order's last attempt: what the flush derived
 * meanwhile is removed then.
 * @param goes the condition of the events that go.
 */
export async function eraseSessions(
  clickhouse: ClickHouse,
  moment: Moment,
  { from, command }: ListedIds,
  goes: string,
): Promise<void> {
  const { project_id, ordered_at } = moment;
  const own = newUuid();
  const params = { project_id, at: ordered_at, sessions: listId(moment), own };
  // Ids as hexadecimal digits, since clients may send any byte.
  await command(
    `INSERT INTO deleting_ids (attempt, project_id, distinct_id)
     SELECT {sessions:UUID}, {project_id:UInt32}, hex(session) FROM (
       SELECT ${sessionOfEvent} AS session FROM event_rows WHERE ${goes}
       UNION ALL
       SELECT session_id FROM session_facts
       WHERE project_id = {project_id:UInt32} AND substring(first_seen, 9) IN (SELECT distinct_id FROM ${from})
     ) WHERE session != '' AND length(session) <= ${sessionBytesMax} GROUP BY session`,
    params,
    settings,
  );
  // Another process may finish the order meanwhile and drop its list.
  await command(
    `INSERT INTO deleting_ids (attempt, project_id, distinct_id)
     SELECT {own:UUID}, project_id, distinct_id FROM deleting_ids WHERE attempt = {sessions:UUID}`,
    params,
  );
  await deriveListed(clickhouse, params, command, goes);
  await dropList(clickhouse, own);
}

/** Derives the sessions of a list again, which its attempt has alone, in slices. */
async function deriveListed(
  clickhouse: ClickHouse,
  params: { own: string },
  command: ListedIds["command"],
  goes: string,
): Promise<void> {
  const listed = "deleting_ids WHERE attempt = {own:UUID}";
  const [found] = await clickhouse.query<{ n: string }>(`SELECT count() AS n FROM ${listed}`, params);
  const slices = Math.ceil(Number(found?.n ?? 0) / personLimits.sessionsAtOnce);
  for (let slice = 0; slice < slices; slice++) {
    const ofSlice = { ...params, slices, slice };
    const list = `SELECT distinct_id FROM ${listed} AND sipHash64(distinct_id) % {slices:UInt32} = {slice:UInt32}`;
    const where = "project_id = {project_id:UInt32}";
    await awaitDeletions(clickhouse, "session_facts", options.timeoutMs);
    await deleteListed(
      clickhouse,
      { table: "session_facts", where, value: "hex(session_id)", list },
      ofSlice,
      options,
    );
    await command(
      insertStoredSessions(`${where} AND hex(${sessionOfEvent}) IN (${list}) AND NOT (${goes})`),
      ofSlice,
      settings,
    );
  }
}

/** Forgets the list of sessions of a deletion that is finished. */
export async function forgetSessions(clickhouse: ClickHouse, moment: Moment): Promise<void> {
  await dropList(clickhouse, listId(moment));
}

async function dropList(clickhouse: ClickHouse, list: string): Promise<void> {
  const text = `ALTER TABLE ${clickhouse.tables.local("deleting_ids")} DROP PARTITION {list:UUID}`;
  await clickhouse.command(text, { list }, options);
}

/** One for each moment of a project: a session that is derived once too often is as it was. */
function listId({ project_id, ordered_at }: Moment): string {
  const digits = project_id.toString(16).padStart(8, "0") + ordered_at.toString(16).padStart(24, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
