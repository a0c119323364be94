// What stands beside a recording.

import { afterEach, expect, test } from "bun:test";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Beside } = await inDocument(
  () => import("../../../../src/console/app/session_recordings/beside.tsx"),
);

afterEach(closePage);

test("the session's events are asked for the recording's own hours, from the first on", async () => {
  const event = (name: string, timestamp: string) => ({ uuid: name, event: name, timestamp, properties: {} });
  const results = [event("first", "2026-03-01T11:59:59.000Z"), event("second", "2026-03-01T12:00:10.000Z")];
  const recording = { id: "s1", start_time: "2026-03-01T12:00:00Z", recording_duration: 60 };
  const page = await drawPage(<Beside recording={recording} recorded={undefined} seek={() => {}} />, {
    answers: { "GET /api/projects/7/events/": { results, count: 2 } },
    scopes: ["*"],
  });
  expect(page.texts(".events strong")).toEqual(["first", "second"]);
  const { query } = page.asked.find(({ path }) => path.endsWith("/events/"))!;
  expect(query).toMatchObject({
    after: "2026-03-01T11:00:00.000Z",
    before: "2026-03-01T13:01:00.000Z",
    orderBy: '["timestamp"]',
    limit: "500",
  });
});
