// What other tools' exports bring, each with its public thread or file; inputs are ours.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { milliseconds, openImports } from "../support/imports.ts";
import { until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const moment = "2024-05-06T08:11:12.000Z";
const momentMs = Date.parse(moment);
const { sql, eventsOf, importRows } = openImports(() => app);

const countPersons = async (...ids: string[]): Promise<unknown> =>
  (await sql(`SELECT uniq(person_id) FROM events WHERE distinct_id IN ('${ids.join("', '")}')`))[0]![0];

// rudderlabs/rudder-sdk-js#206, segmentio/analytics-ruby#181, segment-boneyard/segment-docs#5149.
test("of users with one anonymous id the first has it, an alias needs no user, and no call is of 1970", async () => {
  const call = (type: string, more: object) => ({
    type,
    messageId: crypto.randomUUID(),
    timestamp: moment,
    context: {},
    ...more,
  });
  const users = ["1@abc.example", "111", "2@abc.example"];
  await importRows(
    [
      ...users.map((userId) => call("identify", { userId, anonymousId: "shared", traits: {} })),
      call("track", { event: "t", anonymousId: "shared" }),
      call("track", { event: "t", anonymousId: "before" }),
      call("alias", { previousId: "before", anonymousId: "after" }),
      call("track", { event: "t", anonymousId: "after" }),
      call("track", { event: "t", userId: "php", timestamp: "1970-01-01T00:00:00.000Z", receivedAt: moment }),
    ],
    "segment",
  );
  await until(async () => (await countPersons("shared", users[0]!)) === 1);
  expect(await countPersons("shared", ...users)).toBe(3);
  await until(async () => (await countPersons("before", "after")) === 1);
  expect(await eventsOf("php", milliseconds)).toEqual([[momentMs]]);
});

// docs.mixpanel.com (create-identity, raw export), codekadiya/expo-mixpanel-analytics#5; batch-import-worker.
test("Mixpanel's merges, page views and events that share an $insert_id come as they were", async () => {
  const row = (event: string, distinct_id: string, more: object) => ({
    event,
    properties: { time: momentMs / 1000, distinct_id, $insert_id: "same", ...more },
  });
  await importRows(
    [
      row("a", "mp-device", {}),
      row("b", "mp-user", {}),
      row("c", "mp-user", {}),
      row("$mp_web_page_view", "mp-new", { mp_country_code: "DE", $city: "Ulm" }),
      row("$identify", "mp-user", { $identified_id: "mp-user", $anon_id: "mp-device" }),
      row("$create_alias", "mp-user", { alias: "mp-new" }),
    ],
    "mixpanel",
  );
  await until(async () => (await countPersons("mp-user", "mp-device", "mp-new")) === 1);
  const views = await eventsOf(
    "mp-new",
    "event, properties.$geoip_country_code, properties.$geoip_city_name",
  );
  expect(views).toEqual([["$pageview", "DE", "Ulm"]]);
  const names = (await eventsOf("mp-user", "event")).flat();
  expect(names.filter((name) => !String(name).startsWith("$"))).toEqual(["b", "c"]);
});

// The columns in PostHog's test of its CSV of events.
test("the CSV of PostHog's page of events is read", async () => {
  const header =
    "event,*.uuid,*.event,*.properties.prop,*.timestamp,*.team_id,*.distinct_id,*.elements_chain";
  const uuid = crypto.randomUUID();
  const row = `$pageview,${uuid},$pageview,some,2024-05-06T08:11:12.000000Z,1,page,`;
  await importRows(`${header},*.created_at\r\n${row},2024-05-06T08:11:13Z\r\n`, "auto", "export.csv");
  expect(await eventsOf("page", `uuid, event, ${milliseconds}, properties`)).toEqual([
    [uuid, "$pageview", momentMs, '{"prop":"some"}'],
  ]);
});
