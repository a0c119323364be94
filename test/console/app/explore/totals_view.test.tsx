// Bars of one figure by the values of a property: named by these, beneath what they have in common.

import { afterEach, expect, test } from "bun:test";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { TotalsView } = await inDocument(() => import("../../../../src/console/app/explore/totals_view.tsx"));

afterEach(closePage);

const line = (name: string, more: object) => ({
  label: name,
  action: { name, order: 0, math: "sum", math_property: "price" },
  data: [],
  days: [],
  aggregated_value: 3,
  ...more,
});
const texts = async (...series: object[]) => {
  const page = await drawPage(
    <TotalsView series={series as never} display="ActionsBarValue" query={undefined} />,
  );
  const shown = [page.texts("p.quiet"), page.texts(".side-bars .cut")];
  await closePage();
  return shown;
};

test("bars of one figure are named by their values, those of several by all that tells them apart", async () => {
  const [gold, none] = [{ breakdown_value: "gold" }, { breakdown_value: "" }];
  expect(await texts(line("paid", gold), line("paid", none))).toEqual([
    ["paid · Sum of price"],
    ["gold", "(none)"],
  ]);
  const both = await texts(line("paid", gold), line("seen", gold));
  expect(both).toEqual([[], ["paid · Sum of price · gold", "seen · Sum of price · gold"]]);
});
