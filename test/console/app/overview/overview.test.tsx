// The overview: what it asks of a site, how a change is told, and where its rows and figures lead.

import { afterEach, expect, test } from "bun:test";
import { type Site, siteAddress } from "../../../../src/console/app/overview/site_query.ts";
import { buildHref, readRoute } from "../../../../src/console/app/session/route.ts";
import { type Answers, type Asked, closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Overview } = await inDocument(() => import("../../../../src/console/app/overview/overview.tsx"));

afterEach(closePage);

const figure = (
  key: string,
  value: number | null,
  previous: number | null,
  change: number | null,
  kind = "unit",
) => ({
  key,
  kind,
  value,
  previous,
  changeFromPreviousPct: change,
  isIncreaseBad: key === "bounce rate",
});
const figures = [
  figure("visitors", 1200, 1000, 20),
  figure("views", 90, 100, -10),
  figure("sessions", 5, null, null),
  figure("session duration", 61.4, 61.4, 0, "duration_s"),
  figure("bounce rate", 50, 40, 25, "percentage"),
];

function answerTo({ body }: Asked): object {
  const { query } = body as { query: { kind: string } };
  if (query.kind === "HogQLQuery") return { results: [[3]] };
  if (query.kind === "WebOverviewQuery") return { results: figures };
  if (query.kind === "TrendsQuery") return { results: [] };
  return { results: [["/tea", [9, null], [20, null]]], hasMore: false };
}
const answers: Answers = {
  "GET /api/projects/7/events/": { results: [{}] },
  "POST /api/projects/7/query/": answerTo,
};
const kindsOf = (asked: readonly Asked[]) =>
  asked.flatMap(({ body }) => (body as { query?: { kind: string } } | undefined)?.query?.kind ?? []);

test("a figure has its change against the time before, and says whether that is better or worse", async () => {
  const page = await drawPage(<Overview route={readRoute("#/7/overview")} />, { answers });
  expect(page.texts("dl.figures .figure")).toEqual([
    "Visitors1,200+20 % before: 1,000",
    "Page views90−10 % before: 100",
    "Sessions5 nothing before",
    "Time of a session1 min 1 s±0 % before: 1 min 1 s",
    "Bounce rate50 %+10 points before: 40 %",
  ]);
  const tones = [...page.document.querySelectorAll(".change")].map(({ className }) => className.trim());
  expect(tones).toEqual(["change better", "change worse", "change", "change", "change worse"]);
  expect(page.text()).toContain("3 persons in the last 5 minutes");
});

test("a day that has not ended is compared with the same part of the day before, and says until when", async () => {
  const until = { date_to: "2026-11-26T18:43:00-05:00", value: 614 };
  const results = [{ ...figure("visitors", 645, 803, -20), until }];
  const page = await drawPage(<Overview route={readRoute("#/7/overview?range=dStart&compare_to=-1w")} />, {
    answers: {
      ...answers,
      "POST /api/projects/7/query/": (asked) =>
        kindsOf([asked])[0] === "WebOverviewQuery" ? { results } : answerTo(asked),
    },
  });
  expect(page.texts("dl.figures .figure")).toEqual(["Visitors645+5 % before: 614 until 18:43"]);
  expect(page.asked.map(({ body }) => body)).toContainEqual(
    expect.objectContaining({
      query: expect.objectContaining({ compareFilter: { compare: true, compare_to: "-1w" } }) as unknown,
    }),
  );
});

test("a figure that is pressed is drawn, with its own math; time and bounces are not drawn", async () => {
  const page = await drawPage(<Overview route={readRoute("#/7/overview")} />, { answers });
  await page.press("Page views");
  const next = location.hash;
  expect(next).toEndWith("/overview?figure=views");
  await closePage();
  const drawn = await drawPage(<Overview route={readRoute(next)} />, { answers });
  page.asked.push(...drawn.asked);
  const curves = page.asked.filter(({ body }) => kindsOf([{ body } as Asked])[0] === "TrendsQuery");
  expect(curves.map(({ body }) => body)).toMatchObject([
    { query: { series: [{ event: "$pageview", math: "dau" }] } },
    { query: { series: [{ event: "$pageview", math: "total" }] } },
  ]);
  expect(page.texts("dl.figures button")).toEqual(["Visitors", "Page views", "Sessions"]);
});

test("filters of the address apply to everything, and a button removes one", async () => {
  const route = readRoute("#/7/overview?range=-30d&filter=Browser:Firefox&filter=Page:/tea");
  const page = await drawPage(<Overview route={route} />, { answers });
  const queries = page.asked.flatMap(({ body }) =>
    body ? [(body as { query: { properties?: unknown[] } }).query] : [],
  );
  const scoped = queries.filter(({ properties }) => properties);
  expect(scoped.length).toBeGreaterThan(6);
  expect(new Set(scoped.map(({ properties }) => properties!.length >= 2))).toEqual(new Set([true]));
  await page.press("Browsers: Firefox ×, remove this filter");
  expect(location.hash).toBe("#/7/overview?range=-30d&filter=Page%3A%2Ftea");
});

test("a project without events is led to the start from the first page, and stays on a page it opened itself", async () => {
  const empty: Answers = { ...answers, "GET /api/projects/7/events/": { results: [] } };
  const first = await drawPage(<Overview route={readRoute("#/7/")} />, { answers: empty });
  expect(location.hash).toBe("#/7/start");
  expect(first.texts("dl.figures")).toEqual([]);
  await closePage();
  const named = await drawPage(<Overview route={readRoute("#/7/overview")} />, { answers: empty });
  expect(location.hash).toBe("#/7/overview");
  expect(named.asked.some(({ path }) => path.endsWith("/events/"))).toBe(false);
});

test("the address of a site has its range and filters, and none where it is the usual one", () => {
  const first = { withoutOwn: false, goal: "", drawn: "visitors", tabs: [] };
  const addressOf = (site: Site) => buildHref(7, "overview", [], siteAddress(site));
  expect(addressOf({ range: "-7d", to: "", compareTo: "", filters: [], ...first })).toBe("#/7/overview");
  expect(
    addressOf({
      range: "all",
      to: "",
      compareTo: "",
      filters: [{ by: "OS", operator: "exact", values: [""] }],
      ...first,
    }),
  ).toBe("#/7/overview?range=all&filter=OS%3A");
});

test("with a goal, rows and figures have how many of their visitors came to it", async () => {
  const goalFigures = [
    figure("visitors", 8, 4, 100),
    figure("total conversions", 6, 0, null),
    figure("unique conversions", 2, 1, 100),
    figure("conversion rate", 25, 25, 0, "percentage"),
  ];
  const answer = (asked: Asked) => {
    const { query } = asked.body as { query: { kind: string } };
    if (query.kind === "WebOverviewQuery") return { results: goalFigures };
    if (query.kind !== "WebStatsTableQuery") return answerTo(asked);
    return { results: [["/tea", [8, null], [6, null], [2, null], [0.25, null]]], hasMore: false };
  };
  const own = { ...answers, "POST /api/projects/7/query/": answer };
  const page = await drawPage(<Overview route={readRoute("#/7/overview?goal=purchase")} />, { answers: own });
  expect(page.texts("dl.figures dt")).toEqual([
    "Visitors",
    "Conversions",
    "Visitors who converted",
    "Conversion rate",
  ]);
  expect(page.text()).toContain("8 · 25 %");
  expect(page.text()).toContain("Goal: purchase ×");
});
