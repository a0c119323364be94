// Projects of their own with the events of a public test, and the questions that it asks. Never checks what comes back.

import { type Answer, ask } from "./ask.ts";
import { until } from "./server.ts";

/** Person, event, time in UTC, properties. */
export type Happening = [distinct_id: string, event: string, at: string, properties?: object];

export interface PeerProject {
  path: string;
  token: string;
  /** The answer to a query. */
  query: (query: object) => Promise<Answer>;
  /** The results of a query; throws what the server says instead. */
  results: <Result>(query: object) => Promise<Result[]>;
}

/**
 * On a server with CAPTURE_ACK=stored, whose answer to capture comes when the events are stored.
 * @param settings of the project, such as its time zone.
 */
export async function makeProject(
  app: { url: string },
  happenings: readonly Happening[],
  settings: object = {},
): Promise<PeerProject> {
  const made = await ask(app, "POST", "/api/projects/", { name: `peer ${crypto.randomUUID()}`, ...settings });
  const { id, api_token } = made.body as { id: number; api_token: string };
  if (made.status !== 201) throw new Error(made.text);
  const batch = happenings.map(([distinct_id, event, at, properties = {}]) => ({
    event,
    distinct_id,
    timestamp: at.endsWith("Z") ? at : `${at.replace(" ", "T")}${at.length > 10 ? "" : "T00:00:00"}Z`,
    properties,
  }));
  await ask(app, "POST", "/batch/", { api_key: api_token, batch, historical_migration: true }, "");
  const path = `/api/projects/${id}`;
  const query = (asked: object) => ask(app, "POST", `${path}/query/`, { query: asked });
  const results = async <Result>(asked: object): Promise<Result[]> => {
    const { status, text, body } = await query(asked);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return body["results"] as Result[];
  };
  // Merges of persons follow their events.
  const isMerged = async (id: string, anonymous: unknown): Promise<boolean> => {
    const ids = { id, anonymous };
    const text = "select uniq(person_id) from person_distinct_ids where distinct_id in ({id}, {anonymous})";
    const [row] = await results<number[]>({ kind: "HogQLQuery", query: text, values: ids });
    return row![0] === 1;
  };
  for (const { event, distinct_id, properties } of batch) {
    const { $anon_distinct_id } = properties as { $anon_distinct_id?: string };
    if (event === "$identify") await until(() => isMerged(distinct_id, $anon_distinct_id));
  }
  return { path, token: api_token, query, results };
}
