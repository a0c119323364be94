// Rows of two projects side by side: each has something in every table that clients read, all of it with a word of its
// own. Never checks what comes back.

import type { Stores } from "../../src/storage/stores.ts";
import { event } from "./recordings.ts";
import { post, rested } from "./server.ts";

/** Events, persons, groups, sessions, recordings and warnings of a project; every text of theirs begins with `word`. */
export async function fillProject(server: { url: string }, key: string, word: string): Promise<void> {
  const at = Date.now() - 3_600_000;
  const common = { $session_id: `${word} session`, $current_url: `https://${word}.example.com/`, plan: word };
  const one = (name: string, i: number, properties: object = {}) => ({
    event: name,
    distinct_id: `${word} user ${i % 3}`,
    timestamp: new Date(at + i * 1000).toISOString(),
    properties: { ...common, ...properties },
  });
  const batch = [
    ...Array.from({ length: 30 }, (_, i) => one(i % 2 ? word : `${word} more`, i, { n: i })),
    ...[0, 1, 2].map((i) => one("$identify", i, { $set: { email: `${word}@example.com`, plan: word } })),
    one("$groupidentify", 1, { $group_type: word, $group_key: `${word} key`, $group_set: { name: word } }),
    one(word, 2, { $groups: { [word]: `${word} key` } }),
    // Ignored, with a warning that names it.
    { ...one(word, 3), distinct_id: "", properties: { ...common, large: word } },
  ];
  await post(server, "/batch/", { api_key: key, batch });
  await sendRecording(server, key, word);
  await rested(server);
}

/** A recording of the project; it is stored as soon as the server knows that the project has opted in. */
export async function sendRecording(server: { url: string }, key: string, word: string): Promise<void> {
  const at = Date.now() - 3_600_000;
  const properties = { token: key, distinct_id: `${word} user 0`, $session_id: `${word} recorded` };
  const $snapshot_data = [event.page(at, `https://${word}.example.com/`), event.click(at + 1000)];
  const snapshot = {
    uuid: crypto.randomUUID(),
    event: "$snapshot",
    properties: { ...properties, $window_id: "w1", $snapshot_bytes: 1, $snapshot_data, $lib: "web" },
    offset: 5,
  };
  await post(server, "/s/", [snapshot]);
}

/**
 * Merges every table, so that rows of all projects lie in one part and granule; the tables that have rows of several
 * projects in one.
 */
export async function mixProjects({ clickhouse }: Stores): Promise<string[]> {
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
       AND (name, 'project_id') IN (SELECT table, name FROM system.columns WHERE database = currentDatabase())`,
  );
  const mixed: string[] = [];
  for (const { name } of tables) {
    await clickhouse.command(`OPTIMIZE TABLE ${name} FINAL`);
    const parts = await clickhouse.query(
      `SELECT _part FROM ${name} GROUP BY _part HAVING uniqExact(project_id) > 1`,
    );
    if (parts.length > 0) mixed.push(name.replace(/_local$/, ""));
  }
  return mixed;
}
