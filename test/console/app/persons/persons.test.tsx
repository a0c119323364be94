// The pages of persons: the list as its address asks for it, and one person.

import { afterEach, expect, test } from "bun:test";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, closePage, drawPage, inDocument, refused } from "../drawn_page.tsx";

const { Persons } = await inDocument(() => import("../../../../src/console/app/persons/persons.tsx"));

afterEach(closePage);

const home = "/api/projects/7";
const uuid = "018f6d00-0000-7000-8000-0000000000aa";
const person = {
  uuid,
  name: "zoe@shop.example",
  distinct_ids: ["zoe"],
  distinct_ids_count: 300,
  properties: { plan: "pro" },
  created_at: "2026-03-01T00:00:00Z",
  last_seen_at: "2026-03-02T00:00:00Z",
  is_identified: true,
};
const answers: Answers = {
  [`GET ${home}/persons/`]: {
    results: [person, { ...person, uuid: "b", name: "", distinct_ids: [] }],
    count: 120,
  },
  [`GET ${home}/persons/${uuid}/`]: person,
  [`GET ${home}/persons/${uuid}/distinct_ids/`]: { results: ["zoe", "device-1"], count: 300 },
  [`GET ${home}/events/`]: { results: [], count: 0 },
  [`POST ${home}/query/`]: ({ body }) => {
    const { query = "" } = (body as { query: { query?: string } }).query;
    return { results: query.startsWith("select count()") ? [[42, "2026-03-01", "2026-05-09"]] : [] };
  },
  [`DELETE ${home}/persons/${uuid}/`]: {},
};

async function drawn(hash: string, scopes: readonly string[] = ["*"], more: Answers = {}) {
  return await drawPage(<Persons route={readRoute(hash)} />, {
    answers: { ...answers, ...more },
    hash: hash.slice(1),
    scopes,
  });
}

test("filters of the address are requested as properties, those of other owners and invalid ones are not", async () => {
  const where = JSON.stringify([
    JSON.stringify(["person", "plan", "exact", "pro"]),
    JSON.stringify(["event", "$browser", "exact", "x"]),
    "no json",
  ]);
  const page = await drawn(`#/7/persons?search=zo&offset=50&where=${encodeURIComponent(where)}`);
  const { query } = page.asked.find(({ path }) => path === `${home}/persons/`)!;
  expect({ ...query, properties: JSON.parse(query["properties"]!) as unknown } as object).toEqual({
    search: "zo",
    ordering: "-created_at",
    offset: "50",
    limit: "50",
    properties: [{ type: "person", key: "plan", operator: "exact", value: ["pro"] }],
  });
  expect(page.text()).toContain("51 – 100 of 120");
  await page.press("Next");
  expect(new URLSearchParams(location.hash.split("?")[1]).get("offset")).toBe("100");
});

test("a search is trimmed, begins at the first row and forgets the distinct id that led here", async () => {
  const page = await drawn("#/7/persons?distinct_id=zoe&offset=50");
  expect(page.text()).toContain("The person with the id zoe:");
  await page.fill("Id, e-mail address or name", "  ann ");
  await page.submit("Search");
  expect(location.hash).toBe("#/7/persons?search=ann");
});

test("persons are listed the newest first, or the last seen first", async () => {
  const page = await drawn("#/7/persons");
  await page.fill("Order", "-last_seen_at");
  await page.submit("Search");
  expect(location.hash).toBe("#/7/persons?ordering=-last_seen_at");
});

test("a person is called by name, else by an id, else by the uuid", async () => {
  const page = await drawn("#/7/persons");
  expect(page.texts("tbody a")).toEqual(["zoe@shop.example", "b"]);
});

test("one person has ids with the main one marked, and says how many more there are", async () => {
  const page = await drawn(`#/7/persons/${uuid}`);
  expect(page.texts("h1")).toEqual(["zoe@shop.example"]);
  expect(page.texts(".rows li").slice(0, 2)).toEqual(["zoe main", "device-1"]);
  expect(page.text()).toContain("and 298 more");
  expect(page.find("a.button").getAttribute("href")).toBe(`#/7/recordings?person=${uuid}`);
});

const deletion = {
  activity: "deleted",
  user: { email: "admin@example.com" },
  created_at: "2026-05-10T00:00:00Z",
};
const activity = (action: string) => ({
  [`GET ${home}/persons/${uuid}/activity/`]: {
    results: [{ ...deletion, detail: { changes: [{ action }] } }],
    count: 1,
  },
});
const yes = "Yes, delete. It cannot be undone.";

test("deleting asks what goes with the person, and shows the progress until nothing is left", async () => {
  const page = await drawn(`#/7/persons/${uuid}`, ["*"], activity("erased"));
  expect(page.text()).toContain("The person goes with its 300 distinct ids");
  expect(page.text()).toContain("its events are no longer counted (42 from Mar 1, 2026 to May 9, 2026).");
  await page.press("Delete");
  expect(page.asked.some(({ method }) => method === "DELETE")).toBe(false);
  await page.press(yes);
  const { path, query } = page.asked.find(({ method }) => method === "DELETE")!;
  expect([path, query]).toEqual([
    `${home}/persons/${uuid}/`,
    { delete_events: "true", delete_recordings: "true" },
  ]);
  const proof = /^Deleted: no row of it is left. Requested May .* by admin@example.com.$/;
  expect(page.texts('[role="status"]')).toEqual([expect.stringMatching(proof)]);
  await closePage();
  const erasing = await drawn(`#/7/persons/${uuid}`, ["*"], activity("erasing"));
  await erasing.press("Delete");
  await erasing.press(yes);
  expect(erasing.texts('[role="status"]')[0]).toContain("are being removed");
});

test("the address of a deleted person keeps the proof, that of nobody says that there is none", async () => {
  const gone = { [`GET ${home}/persons/${uuid}/`]: refused(404, "Person not found.") };
  const page = await drawn(`#/7/persons/${uuid}`, ["*"], { ...gone, ...activity("erased") });
  expect(page.texts('[role="status"]')[0]).toContain("no row of it is left");
  await closePage();
  const none = { [`GET ${home}/persons/${uuid}/activity/`]: refused(404, "Person not found.") };
  const nobody = await drawn(`#/7/persons/${uuid}`, ["*"], { ...gone, ...none });
  expect(nobody.texts('[role="alert"]')[0]).toContain("There is no person");
});

test("events of a merged person may stay, which says what becomes of past figures", async () => {
  const page = await drawn(`#/7/persons/${uuid}`, ["*"], activity("erasing"));
  await page.fill("Delete its events and sessions, too", "off");
  expect(page.text()).toContain("each id’s as those of a person of its own");
  await page.press("Delete");
  await page.press(yes);
  const { query } = page.asked.find(({ method }) => method === "DELETE")!;
  expect(query).toEqual({ delete_events: "false", delete_recordings: "true" });
});

test("a refused deletion stays on the page", async () => {
  const refusing = { [`DELETE ${home}/persons/${uuid}/`]: refused(403, "Not yours.") };
  const kept = await drawn(`#/7/persons/${uuid}`, ["*"], refusing);
  await kept.press("Delete");
  await kept.press(yes);
  expect(kept.texts('[role="alert"]')).toEqual(["Not yours."]);
  expect(kept.texts("h1")).toEqual(["zoe@shop.example"]);
});

test("what a key may not see is not requested", async () => {
  const page = await drawn(`#/7/persons/${uuid}`, ["person:read"]);
  expect(page.asked.map(({ path }) => path)).toEqual([
    `${home}/persons/${uuid}/`,
    `${home}/persons/${uuid}/distinct_ids/`,
  ]);
  expect(page.texts("button")).toEqual([]);
});
