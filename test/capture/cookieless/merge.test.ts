import { afterAll, describe, expect, test } from "bun:test";
import { openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

const key = "phc_only_key";

describe("the id that all visitors without a cookie share", () => {
  for (const [event, ids] of [
    ["$identify", { distinct_id: "alice", properties: { $anon_distinct_id: "$posthog_cookieless" } }],
    ["$create_alias", { distinct_id: "alice", properties: { alias: "$posthog_cookieless" } }],
    ["$merge_dangerously", { distinct_id: "alice", properties: { alias: "$posthog_cookieless" } }],
    ["$merge_dangerously", { distinct_id: "alice", properties: { alias: "$posthog\\u005fcookieless" } }],
  ] as const) {
    test(`is not merged by ${event} (${JSON.stringify(ids.properties)}), and that is counted by its name`, async () => {
      const desk = openDesk();
      const body = JSON.stringify({ api_key: key, event, ...ids }).replaceAll("\\\\u", "\\u");
      expect((await desk.send("/e", body)).status).toBe(200);
      expect(desk.counts).toMatchObject({ accepted: 1, cannot_merge_with_illegal_distinct_id: 1 });
      const rows = await desk.kept();
      expect([rows["live"], rows["merges"] ?? 0]).toEqual([1, 0]);
      expect(desk.journal.merging.openRows).toBe(0);
    });
  }
});
