// The list of recordings: what its fields ask of the API.

import { afterEach, expect, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Recordings, recordingsQuery } = await inDocument(
  () => import("../../../../src/console/app/session_recordings/recordings.tsx"),
);

afterEach(closePage);

const none = {
  range: "",
  from: "",
  to: "",
  name: "",
  distinct_id: "",
  person: "",
  page: "",
  event: "",
  longer: "",
};

test("empty fields request no filter, and each field its own", () => {
  const asked = Object.entries(recordingsQuery(none)).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  expect(asked).toEqual([]);
  expect(
    recordingsQuery({ ...none, longer: "60", event: 'say "hi"', person: "u1", distinct_id: "zoe" }),
  ).toMatchObject({
    having_predicates: '[{"key":"duration","operator":"gt","value":60}]',
    events: '[{"id":"say \\"hi\\"","type":"events"}]',
    person_uuid: "u1",
    distinct_id: "zoe",
  });
});

test("a name is looked for in each property that persons are named by, and beside a page's address", () => {
  const { properties } = recordingsQuery({ ...none, name: "zo", page: "/tea" });
  const like = (type: string, key: string, value: string) => ({ type, key, value, operator: "icontains" });
  expect(JSON.parse(String(properties))).toEqual({
    type: "AND",
    values: [
      {
        type: "OR",
        values: ["email", "name", "username"].map((key) => like("person", key, "zo")),
      },
      like("event", "$current_url", "/tea"),
    ],
  });
});

test("days are whole days of the reader, before a range, and a text that is none is left out", () => {
  expect(recordingsQuery({ ...none, range: "-7d", from: "2026-02-28", to: "2026-02-28" })).toMatchObject({
    date_from: new Date(2026, 1, 28).toISOString(),
    date_to: new Date(2026, 2, 1).toISOString(),
  });
  expect(recordingsQuery({ ...none, range: "-7d", from: "soon", to: "2026-13-01" })).toMatchObject({
    date_from: "-7d",
    date_to: undefined,
  });
});

const recording = {
  id: "s1",
  distinct_id: "zoe",
  viewed: true,
  ongoing: false,
  recording_duration: 61,
  click_count: 3,
  console_error_count: 1,
  start_time: "2026-03-01T00:00:00Z",
  start_url: "https://shop.example/",
  person: { name: "", uuid: "u1" },
};
const answers: Answers = {
  "GET /api/projects/7/session_recordings/": { results: [recording], count: 1 },
};

test("the address is the request, rare fields are open where it has one, and a button removes a person", async () => {
  const hash = "/7/recordings?person=u1&page=%2Ftea";
  const page = await drawPage(<Recordings route={readRoute(`#${hash}`)} />, { answers, hash });
  const { query } = page.asked.find(({ path }) => path.endsWith("/session_recordings/"))!;
  expect(query).toMatchObject({ person_uuid: "u1", limit: "30", offset: "0" });
  expect(page.find("details").hasAttribute("open")).toBe(true);
  await page.press("Show all");
  expect(location.hash).toBe("#/7/recordings?page=%2Ftea");
});

test("a person is a link only for who may see persons, and a project that records nothing says so", async () => {
  const hash = "/7/recordings";
  const page = await drawPage(<Recordings route={readRoute(`#${hash}`)} />, {
    answers,
    hash,
    scopes: ["session_recording:read"],
    project: { session_recording_opt_in: false },
  });
  expect(page.texts("tbody td").slice(1)).toEqual(["zoe", "https://shop.example/", "1 min 1 s", "3", "1"]);
  expect(page.texts("tbody td:nth-child(2) a")).toEqual([]);
  expect(page.text()).toContain("This project records no sessions.");
  expect(page.find("details").hasAttribute("open")).toBe(false);
});
