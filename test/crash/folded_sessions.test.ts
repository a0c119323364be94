// Sessions of events that come again, in other orders and bodies, to several workers that are killed in between: they
// are what the engine derives of the stored events one by one.

import { expect, test } from "bun:test";
import { insertStoredSessions } from "../../src/storage/events/sessions.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { post, projectKey, rested, startServer, storesOf } from "../support/server.ts";
import { choices, type SessionEvent, sessionEvents, sessionFactsOf } from "../support/session_events.ts";
import { storesStartMsMax } from "../support/stores.ts";

cleanUpEach();

const environment = { WORKERS: "2", FLUSH_INTERVAL_MS: "50" };

/** One in ten merges, and so goes the slow way. */
function bodyOf(events: readonly SessionEvent[], historical_migration: boolean): string {
  const batch = events.map(({ uuid, event, distinct_id, properties, timestamp }) => {
    const isMerging = uuid % 10 === 0;
    const inner = properties.slice(1, -1).trim();
    const merging = `"$anon_distinct_id":"anon${uuid}"${inner === "" ? "" : ","}`;
    const id = `01890a5d-ac96-774b-bcce-${uuid.toString(16).padStart(12, "0")}`;
    const own = { uuid: id, distinct_id, event: isMerging ? "$identify" : event };
    // Not in the future: that would be replaced by when it came.
    const time = new Date(Date.UTC(2024, 0, 1) + ((timestamp / 1e3) % 60_000)).toISOString();
    const text = JSON.stringify({ ...own, timestamp: time }).slice(0, -1);
    return `${text},"properties":${isMerging ? `{${merging}${inner}}` : properties}}`;
  });
  return `{"api_key":"${projectKey}","historical_migration":${historical_migration},"batch":[${batch.join(",")}]}`;
}

test(
  "they are the same as of the stored events",
  async () => {
    const { below } = choices(7);
    const events = sessionEvents(7, 3000);
    let server = await startServer(environment);
    // Each body may come once more, in another life too.
    for (let life = 0; life < 3; life++) {
      const sending: Promise<unknown>[] = [];
      for (let body = 0; body < 40; body++) {
        const from = below(events.length);
        const some = events.slice(from, from + 1 + below(body % 4 === 0 ? 600 : 20));
        if (below(2) === 0) some.reverse();
        sending.push(post(server, "/batch/", bodyOf(some, below(2) === 0)).catch(() => {}));
      }
      if (life === 2)
        expect((await Promise.all(sending)).map((reply) => (reply as Response).status)).toEqual(
          Array.from({ length: 40 }, () => 200),
        );
      else {
        await Promise.race(sending);
        await server.end("SIGKILL");
        await Promise.all(sending);
        server = await startServer(environment, server.dataDir);
      }
    }
    await rested(server);
    const { clickhouse } = await storesOf(server);
    await clickhouse.command("CREATE TABLE derived_again AS session_facts");
    const text = insertStoredSessions("project_id = 1").replace("session_facts", "derived_again");
    await clickhouse.command(text);
    const facts = await sessionFactsOf(clickhouse, 1);
    const again = await sessionFactsOf(clickhouse, 1, "derived_again");
    expect(facts.length).toBeGreaterThan(30);
    // Of events that came twice the later arrival is not stored any more once they are merged.
    const arrived = { "toString(max(arrived))": "" };
    const withoutArrival = (all: object[]) => all.map((one) => ({ ...one, ...arrived }));
    expect(withoutArrival(facts)).toEqual(withoutArrival(again));
  },
  storesStartMsMax,
);
