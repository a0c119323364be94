// Values over time: names of lines, and values of a time chosen by keys.

import { afterEach, expect, test } from "bun:test";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Chart } = await inDocument(() => import("../../../../src/console/app/ui/chart.tsx"));

afterEach(closePage);

const times = [0, 1, 2].map((day) => Date.UTC(2026, 2, 1 + day) / 1000);
const names = ["Mar 1", "Mar 2", "Mar 3"];
const lines = [
  { label: "paid", values: [1, 5, 2] },
  { label: "seen", values: [9, 3, null] },
];
const props = { label: "Two lines", times, names, lines };

/** What stands beside the pointer. */
const valuesIn = (texts: string[]) => texts.slice(0, 9);

test("arrow keys choose a time, whose values are named, the largest first", async () => {
  const page = await drawPage(<Chart {...props} />);
  expect(page.texts(".values")).toEqual([]);
  const chart = page.find(".pointed");
  await page.key(chart, "ArrowRight");
  expect(valuesIn(page.texts(".values strong, .values > span"))).toEqual(["Mar 1", "seen 9", "paid 1"]);
  await page.key(chart, "ArrowRight");
  expect(valuesIn(page.texts(".values strong, .values > span"))).toEqual(["Mar 2", "paid 5", "seen 3"]);
  await page.key(chart, "ArrowRight");
  await page.key(chart, "ArrowRight");
  expect(valuesIn(page.texts(".values strong, .values > span"))).toEqual(["Mar 3", "paid 2"]);
});

test("from the left edge the first key backwards is the last time", async () => {
  const page = await drawPage(<Chart {...props} />);
  await page.key(page.find(".pointed"), "ArrowLeft");
  expect(page.texts(".values strong")).toEqual(["Mar 3"]);
});

test("Enter picks the line that arrows chose, by its number and the time's", async () => {
  const picked: number[][] = [];
  const page = await drawPage(<Chart {...props} pick={(line, at) => picked.push([line, at])} />);
  const chart = page.find(".pointed");
  await page.key(chart, "Enter");
  expect(picked).toEqual([]);
  await page.key(chart, "ArrowRight");
  await page.key(chart, "Enter");
  await page.key(chart, "ArrowDown");
  expect(page.texts(".values .chosen")).toEqual(["paid 1"]);
  await page.key(chart, "Enter");
  await page.key(chart, "ArrowDown");
  await page.key(chart, "ArrowUp");
  await page.key(chart, "ArrowUp");
  await page.key(chart, "Enter");
  expect(picked).toEqual([
    [1, 0],
    [0, 0],
    [1, 0],
  ]);
});

test("twelve lines are named beside a time, and how many more there are", async () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ label: `l${i}`, values: [i, i, i] }));
  const named = async (count: number) => {
    const page = await drawPage(<Chart {...props} lines={many(count)} />);
    await page.key(page.find(".pointed"), "ArrowRight");
    const texts = page.texts(".values > span");
    await closePage();
    return [texts.length, texts[0], texts.at(-1)];
  };
  expect(await named(12)).toEqual([12, "l11 11", "l0 0"]);
  expect(await named(14)).toEqual([13, "l13 13", "and 2 more"]);
});

test("the legend has each line once, also where a part of it is not over", async () => {
  const page = await drawPage(<Chart {...props} unfinished={2} />);
  const legend = [...page.document.querySelectorAll(".u-legend .u-series")];
  const shown = legend
    .filter(({ className }) => !/tail/.test(className))
    .map(({ textContent }) => textContent);
  expect(shown).toEqual(["paid", "seen"]);
  expect(legend.length).toBeGreaterThan(shown.length);
});

test("a bare chart has its room and its description, and nothing to choose", async () => {
  const page = await drawPage(<Chart {...props} bare height={40} />);
  const picture = page.find('[role="img"]');
  expect([picture.getAttribute("aria-label"), picture.style.minHeight]).toEqual(["Two lines", "40px"]);
  expect(page.document.querySelector("[tabindex]")).toBeNull();
  await closePage();
  const whole = await drawPage(<Chart {...props} height={200} />);
  expect(whole.find('[role="img"]').style.minHeight).toBe("230px");
});
