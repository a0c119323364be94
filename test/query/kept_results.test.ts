// Results that were kept are gone with what they show: over the real Postgres, with statements that take a second.

import { afterAll, expect, test } from "bun:test";
import { openQueryEngine } from "../../src/query/engine.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { startMsMax } from "../support/accounts.ts";
import { startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { post, rested, storesOf, until } from "../support/server.ts";
import { noSqlParser } from "../support/sql_parser.ts";

afterAll(cleanUp, startMsMax);

const at = Date.parse("2026-03-04T10:00:00Z");

test(
  "no result is given again after a recording of the project was deleted, until all from before are too old",
  async () => {
    const app = await startApp();
    const server = { url: app.url } as never;
    const { sql } = await storesOf(app);
    await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
    const body = bodyOf({ session: "secret", events: [event.click(at)] });
    await until(async () => (await (await post(server, "/s/", body)).text()) === '{"status":"Ok"}');
    await rested(server);
    const path = "/api/projects/1/session_recordings/secret/";
    expect((await ask(server, "GET", path)).status).toBe(200);

    let elapsed = 0;
    const clickhouse = {
      query: () => {
        elapsed += queryLimits.resultWorthMsMin;
        return Promise.resolve([]);
      },
    } as never;
    const clock = { now: () => at, elapsed: () => elapsed };
    const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock });
    const isCached = async (project_id = 1): Promise<boolean> =>
      (await engine.ask(project_id, { kind: "TrendsQuery", series: [{}] }, { mayBeKept: true })).is_cached;
    expect([await isCached(), await isCached()]).toEqual([false, true]);

    const { status } = await ask(server, "DELETE", path);
    expect(status).toBe(204);
    expect([await isCached(), await isCached()]).toEqual([false, false]);

    const past = queryLimits.resultKeptMs * 2 + 1000;
    await sql`UPDATE session_recording_deletions SET deleted_at = deleted_at - ${past} * interval '1 ms'`;
    elapsed += queryLimits.resultKeptMs + 1;
    expect([await isCached(), await isCached()]).toEqual([false, true]);
  },
  startMsMax,
);
