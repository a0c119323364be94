// Funnels by the values of a property: one chart for all of them, and a total that is asked for apart.

import { afterEach, expect, test } from "bun:test";
import { type Answers, closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { FunnelView } = await inDocument(() => import("../../../../src/console/app/explore/funnel_view.tsx"));

afterEach(closePage);

const makeSteps = (value: string | undefined, counts: readonly number[]) =>
  counts.map((count, order) => ({
    action_id: order === 0 ? "seen" : "paid",
    name: order === 0 ? "seen" : "paid",
    custom_name: null,
    order,
    count,
    average_conversion_time: null,
    median_conversion_time: null,
    ...(value !== undefined && { breakdown_value: value }),
  }));

const query = { kind: "FunnelsQuery", series: [], breakdownFilter: { breakdown: "plan" } };

test("steps of several values stand together, and the headline is of everybody", async () => {
  const answers: Answers = { "POST /api/projects/7/query/": { results: makeSteps(undefined, [100, 25]) } };
  const funnels = [makeSteps("gold", [60, 15]), makeSteps("free", [30, 6])];
  const page = await drawPage(<FunnelView funnels={funnels as never} query={query} small={false} />, {
    answers,
  });
  expect(page.texts(".bold-number")).toEqual(["25 %"]);
  expect(page.asked[0]!.body).toEqual({ query: { ...query, breakdownFilter: null } });
  expect(page.texts(".grouped")).toEqual(["gold60", "free30", "gold15 · 25 %", "free6 · 20 %"]);
  const bars = [...page.document.querySelectorAll<HTMLElement>(".grouped .bar")];
  expect(bars.map(({ style }) => style.width)).toEqual(["100%", "100%", "25%", "20%"]);
  expect(page.texts(".funnel h3")).toEqual(["gold", "free"]);
});

test("a funnel of nobody has no bars, and one on the page of a link asks nothing", async () => {
  const page = await drawPage(
    <FunnelView
      funnels={[makeSteps("gold", [0, 0]), makeSteps("free", [0, 0])] as never}
      query={undefined}
      small
    />,
  );
  expect(page.asked).toEqual([]);
  expect(page.texts(".bold-number")).toEqual([]);
});
