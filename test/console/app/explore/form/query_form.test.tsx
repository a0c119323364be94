// The form of a query: each kind has its own fields, and what is typed is the next query.

import { afterEach, expect, test } from "bun:test";
import { useState } from "preact/hooks";
import { type Kind, kindNames } from "../../../../../src/console/app/explore/choices.ts";
import { QueryForm } from "../../../../../src/console/app/explore/form/query_form.tsx";
import { type InsightQuery, readAddress } from "../../../../../src/console/app/explore/query.ts";
import { type Answers, closePage, drawPage } from "../../drawn_page.tsx";

afterEach(closePage);

const plain = readAddress(new URLSearchParams("event=paid"));
let next: InsightQuery = plain;
let sent: InsightQuery[] = [];

function Form({ first }: { first: InsightQuery }) {
  const [query, setQuery] = useState(first);
  next = query;
  return <QueryForm next={query} edit={setQuery} submit={(one) => void sent.push(one)} isEdited={false} />;
}

async function drawn(first: Partial<InsightQuery>, answers: Answers = {}) {
  const scopes = ["event_definition:read"];
  sent = [];
  return await drawPage(<Form first={{ ...plain, ...first }} />, { answers, scopes });
}

const fields: Record<Kind, string[]> = {
  trend: [
    "Event",
    "Count",
    "Interval",
    "Time range",
    "Shown as",
    "Break down by property",
    "Compare with the time before",
  ],
  funnel: ["Step 1", "Step 2", "Time range", "Within", "Steps follow", "Shown as", "Break down by property"],
  retention: ["Did", "Came back and did", "Period", "Periods shown", "Until", "Who is counted"],
  lifecycle: ["Event", "Interval", "Time range"],
  stickiness: ["Event", "Interval", "Time range"],
  paths: ["Time range", "Steps are", "Begin with", "End with", "Length"],
};

test.each(kindNames)("a query of the kind %s has its own fields, and no others", async (kind) => {
  const page = await drawn({ kind });
  expect(page.texts("label")).toEqual([...fields[kind], "Without own visits"]);
});

test("what is typed is the next query, with numbers as numbers, and all of it is sent", async () => {
  const page = await drawn({ kind: "retention" });
  await page.fill("Period", "week");
  await page.fill("Periods shown", "12");
  await page.fill("Who is counted", "true");
  await page.fill("Until", "2026-03-01");
  await page.fill("Without own visits", "on");
  const wanted = { interval: "week", columns: 12, first: true, to: "2026-03-01", withoutTests: true };
  expect(next).toEqual({ ...plain, kind: "retention", ...wanted });
  await page.submit("Show");
  expect(sent).toEqual([next]);
});

test("a formula is offered where there are several events, and stays where there was one", async () => {
  const one = await drawn({});
  expect(one.texts("label")).not.toContain("Formula; event 1 is A");
  await one.press("Add event");
  expect(one.texts("label")).toContain("Formula; event 1 is A");
  await closePage();
  const saved = await drawn({ formula: "A * 2" });
  expect(saved.valueOf("Formula; event 1 is A")).toBe("A * 2");
});

test("a value that is none of the usual ones is offered, so that editing something else leaves it", async () => {
  const page = await drawn({ kind: "funnel", window: "45 second", view: "trends" });
  expect(page.valueOf("Within")).toBe("45 second");
  expect(page.texts("label")).toContain("Interval");
  await page.fill("Step 1", "seen");
  expect(next).toMatchObject({ window: "45 second", view: "trends" });
});

test("a breakdown has an owner and a count only once a property is named", async () => {
  const page = await drawn({});
  expect(page.texts("label")).not.toContain("Values");
  await page.fill("Break down by property", "$browser");
  await page.fill("Of", "person");
  await page.fill("Values", "25");
  expect(next).toMatchObject({ breakdown: "$browser", breakdownType: "person", values: 25 });
});

test("events are offered with how many there were, and fields work without any names", async () => {
  const events = { results: [{ name: "paid", volume_30_day: 1200 }] };
  const page = await drawn({}, { "GET /api/projects/7/event_definitions/": events });
  const [option] = page.document.querySelectorAll("datalist option");
  expect([option?.getAttribute("value"), option?.getAttribute("label")]).toEqual([
    "paid",
    "1,200 in 30 days",
  ]);
  await closePage();
  const without = await drawn({});
  await without.fill("Event", "unheard of");
  expect(next.series).toEqual([{ event: "unheard of", math: "total", property: "", conditions: [] }]);
});
