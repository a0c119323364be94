// The fields of filters: what is offered of whose property, and when values are asked for.

import { afterEach, expect, test } from "bun:test";
import { useState } from "preact/hooks";
import {
  AddCondition,
  ConditionFields,
  ownerOptions,
} from "../../../../src/console/app/filters/condition_fields.tsx";
import { type Condition, noCondition } from "../../../../src/console/app/filters/conditions.ts";
import { WithNames } from "../../../../src/console/app/filters/property_names.tsx";
import { type Answers, closePage, type DrawnPage, drawPage } from "../drawn_page.tsx";

afterEach(closePage);

const groupTypes = [{ group_type: "company", group_type_index: 1 }];

let now: readonly Condition[] = [];

function Form({ first, ...more }: { first: readonly Condition[]; owner?: string; mayJoin?: boolean }) {
  const [conditions, setConditions] = useState(first);
  now = conditions;
  const filters = { conditions, set: setConditions, ...more };
  return (
    <WithNames>
      <ConditionFields {...filters} />
      <AddCondition {...filters} />
    </WithNames>
  );
}

const plan: Condition = { type: "person", key: "plan", operator: "exact", values: ["pro"] };
const listed = (...names: string[]) => ({ results: names.map((name) => ({ name })) });
const answers: Answers = {
  "GET /api/projects/7/event_definitions/": listed(),
  "GET /api/projects/7/property_definitions/": ({ query }) =>
    query["type"] === "person" ? listed("plan") : listed("$browser"),
  "GET /api/projects/7/sessions/property_definitions/": listed("$channel_type"),
  "GET /api/projects/7/groups_types/": groupTypes,
  "GET /api/projects/7/groups/property_definitions/": {},
  "GET /api/projects/7/persons/values/": [{ name: "pro", count: 1200 }, { name: "free" }],
  "GET /api/projects/7/sessions/values/": { results: [{ name: "Direct" }] },
};

/** The requests for values. */
const valuesAsked = ({ asked }: DrawnPage) => asked.filter(({ path }) => path.endsWith("/values/"));

test("values are offered of a property that the project has, with how often they came", async () => {
  const page = await drawPage(<Form first={[plan]} />, { answers });
  expect(valuesAsked(page)).toEqual([
    { method: "GET", path: "/api/projects/7/persons/values/", query: { key: "plan" }, body: undefined },
  ]);
  const options = [...page.document.querySelectorAll(".own-filter datalist option")];
  expect(options.map((one) => [one.getAttribute("value"), one.getAttribute("label")])).toEqual([
    ["pro", "1,200"],
    ["free", null],
  ]);
  await page.fill("Whose property", "session");
  await page.fill("Filtered property", "$channel_type");
  expect(page.asked.at(-1)).toMatchObject({
    path: "/api/projects/7/sessions/values/",
    query: { key: "$channel_type" },
  });
});

test("names are not requested for one letter, nor with a key that may not see them", async () => {
  const half = await drawPage(<Form first={[{ ...plan, key: "pla" }]} />, { answers });
  expect(valuesAsked(half)).toEqual([]);
  await closePage();
  const blind = await drawPage(<Form first={[plan]} />, { answers, scopes: ["query:read"] });
  expect(valuesAsked(blind)).toEqual([]);
  await closePage();
  const ofSession = { ...plan, type: "session" as const, key: "$channel_type" };
  const reader = { answers, project: { effective_membership_level: 0 } };
  const reading = await drawPage(<Form first={[plan, ofSession]} />, reader);
  expect(valuesAsked(reading)).toEqual([]);
});

test("an operator without a value has no field for one, and one that takes a single value leaves the first", async () => {
  const several = { ...plan, values: ["pro", "team"] };
  const page = await drawPage(<Form first={[several]} />, { answers });
  expect([page.valueOf("Value"), page.valueOf("Or value 2")]).toEqual(["pro", "team"]);
  await page.fill("Must", "gt");
  expect(now).toEqual([{ ...plan, operator: "gt", values: ["pro"] }]);
  expect(page.text()).not.toContain("Or …");
  await page.fill("Must", "is_set");
  expect(now).toEqual([{ ...plan, operator: "is_set", values: [] }]);
  expect(() => page.valueOf("Value")).toThrow();
});

test("filters are joined by or where a form may, and read in words", async () => {
  const two = [plan, { ...plan, key: "seats", operator: "gt", values: ["9"] }];
  const plain = await drawPage(<Form first={two} owner="person" />);
  expect(() => plain.valueOf("And, or of filter 2")).toThrow();
  await closePage();
  const page = await drawPage(<Form first={two} owner="person" mayJoin />);
  await page.fill("And, or of filter 2", "or");
  expect(now[1]!.join).toBe("or");
  expect(page.text()).toContain(
    "Read as: (the person’s plan is pro, or the person’s seats is greater than 9).",
  );
  await page.fill("And, or of filter 2", "");
  expect(page.text()).not.toContain("Read as");
});

test("there are ten filters at most, and twenty values of one", async () => {
  const nine = Array.from({ length: 9 }, (_, i) => ({ ...plan, key: `p${i}` }));
  const page = await drawPage(<Form first={nine} owner="person" />);
  await page.press("Add filter");
  expect(now[9]).toEqual({ ...noCondition, type: "person" });
  expect(() => page.find('[aria-label="Add filter"]')).toThrow();
  await page.press("Remove filter 1");
  expect(now.map(({ key }) => key)).toEqual(["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", ""]);
  await closePage();
  const values = Array.from({ length: 19 }, (_, i) => String(i));
  const many = await drawPage(<Form first={[{ ...plan, values }]} />, { answers });
  await many.press("Or another, filter 1");
  expect(now[0]!.values).toEqual([...values, ""]);
  expect(() => many.find('[aria-label="Or another, filter 1"]')).toThrow();
});

test("the owner of a filter stays offered where the project has no such groups any more", () => {
  const names = { events: [], properties: {}, groupTypes };
  expect(ownerOptions(names, "person").map(([value]) => value)).toEqual([
    "event",
    "person",
    "session",
    "group:1",
  ]);
  expect(ownerOptions(names, "group:4").at(-1)).toEqual(["group:4", "The group’s"]);
});
