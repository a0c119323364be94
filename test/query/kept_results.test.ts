// Results that were kept are gone with what they show: over the real Postgres, with statements that take a second.

import { afterAll, expect, test } from "bun:test";
import type { Access } from "../../src/access/scope.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { BackgroundQueries } from "../../src/query/background/background_queries.ts";
import { openQueryEngine, openQueryTexts } from "../../src/query/engine.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { ResultCache } from "../../src/query/results/result_cache.ts";
import type { QueryResult } from "../../src/query/store.ts";
import { openEngineZones } from "../../src/storage/clickhouse/zones.ts";
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
      zones: openEngineZones(1),
      query: () => {
        elapsed += queryLimits.resultWorthMsMin;
        return Promise.resolve([]);
      },
    } as never;
    const clock = { now: () => at, elapsed: () => elapsed };
    const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock });
    const isCached = async (project_id = 1): Promise<boolean> =>
      (await engine.answer(project_id, { kind: "TrendsQuery", series: [{}] }, { mayBeCached: true }))
        .is_cached;
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

test(
  "a result in the background is forgotten with each recording that is deleted, also soon after another one",
  async () => {
    const app = await startApp();
    const { sql } = await storesOf(app);
    const clock = systemClock;
    const results = new ResultCache(clock);
    const background = new BackgroundQueries({
      sql,
      clock,
      log: silentLog,
      results,
      texts: openQueryTexts(clock),
    });
    const access = { key: { id: "key", scopes: ["query:read"] } } as Access;
    const name = { project_id: 1, access, id: "one" };
    const result = { kind: "HogQLQuery", results: [[1]] } as unknown as QueryResult;
    const readmit = () => Promise.resolve({ access, project: { id: 1 } });
    const removed = (session_id: string, secondsAgo: number) =>
      sql`INSERT INTO session_recording_deletions (project_id, session_id, deleted_at)
        VALUES (1, ${session_id}, now() - make_interval(secs => ${secondsAgo}))`;
    await removed("first", 60);
    await background.begin(name, { query: {}, readmit, compute: () => Promise.resolve(result) });
    await until(async () => (await background.find(name)).endedAt !== undefined);
    const found = (await background.find(name)).result;
    expect({ ...found, results: [...found!.results] }).toEqual(result);
    await removed("second", 0);
    await expect(background.find(name)).rejects.toMatchObject({ code: "not_found" });
    await background.close();
  },
  startMsMax,
);
