import { afterAll, expect, test } from "bun:test";
import { inflateSync } from "node:zlib";
import { chartSvg, chartWords, ticksFor } from "../../../src/subscriptions/report/chart.ts";
import type { Chart } from "../../../src/subscriptions/report/model.ts";
import { openPictures } from "../../../src/subscriptions/report/png.ts";
import { Semaphore } from "../../../src/work/semaphore.ts";
import { cleanUp, later } from "../../support/cleanup.ts";

afterAll(cleanUp);

const line: Chart = {
  kind: "line",
  labels: ["1-Jan", "2-Jan", "3-Jan"],
  series: [{ label: "a", values: [1, 5, 3] }],
  unit: "",
};

/** Width, height, and how many different bytes the picture is made of. */
function lookAt(png: Uint8Array): { width: number; height: number; shades: number } {
  const view = Buffer.from(png);
  expect(view.subarray(1, 4).toString()).toBe("PNG");
  const parts: Buffer[] = [];
  for (let at = 8; at < view.length;) {
    const length = view.readUInt32BE(at);
    if (view.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(view.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const shades = new Set(inflateSync(Buffer.concat(parts))).size;
  return { width: view.readUInt32BE(16), height: view.readUInt32BE(20), shades };
}

test("a chart is a picture of twice its size, with its letters drawn", async () => {
  const pictures = openPictures(new Semaphore(1, 10));
  later(() => pictures.close());
  const svg = chartSvg(line)!;
  const whole = await pictures.draw(svg);
  expect(lookAt(whole)).toMatchObject({ width: 1200 });
  // Without its font the renderer leaves emails out and says nothing.
  const mute = await pictures.draw(svg.replaceAll(/<text.*?<\/text>/g, ""));
  expect(lookAt(whole).shades).toBeGreaterThan(lookAt(mute).shades);
  expect(whole.length).toBeGreaterThan(mute.length + 1000);
});

test("charts requested at once are separate, and one that cannot be drawn affects no other", async () => {
  const pictures = openPictures(new Semaphore(1, 10));
  later(() => pictures.close());
  const heights = [100, 200, 300];
  const svgs = heights.map(
    (height) => `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="${height}"/>`,
  );
  const [first, broken, ...rest] = await Promise.allSettled(
    [svgs[0]!, "no picture", svgs[1]!, svgs[2]!].map((svg) => pictures.draw(svg)),
  );
  expect(broken?.status).toBe("rejected");
  const drawn = [first!, ...rest].map((one) => (one.status === "fulfilled" ? lookAt(one.value).height : 0));
  expect(drawn).toEqual([200, 400, 600]);
});

test("what users write is text in the picture, whatever they write", () => {
  const label = `</text><script>&"'\u0000\ud800`;
  for (const kind of ["line", "bar"] as const) {
    const svg = chartSvg({
      kind,
      labels: [label, label],
      series: [
        { label, values: [1, 2] },
        { label, values: [2, 3] },
      ],
      unit: "",
    })!;
    expect(svg).not.toContain("<script>");
    expect(svg).toContain("&lt;/text&gt;");
    expect(svg.isWellFormed()).toBe(true);
    expect(svg).not.toContain("\u0000");
  }
});

test("hostile texts are drawn as short texts, and numbers beyond measure at the edge", async () => {
  const pictures = openPictures(new Semaphore(1, 10));
  later(() => pictures.close());
  const hostile = [
    `<!DOCTYPE svg [<!ENTITY a "&a;&a;">]>&a;`,
    `<image xlink:href="file:///etc/passwd"/>`,
    `" x="1e9" font-size="1e9`,
    `a${"\u0301".repeat(5000)}`,
    "x".repeat(100_000),
    "😀".repeat(50_000),
  ];
  for (const kind of ["line", "bar"] as const) {
    for (const label of hostile) {
      const series = [
        { label, values: [1, 2] },
        { label, values: [2, 3] },
      ];
      const svg = chartSvg({ kind, labels: [label, label], series, unit: "" })!;
      expect(svg.length).toBeLessThan(4000);
      expect(svg).not.toMatch(/<!|<image|<svg[^>]*>.*<svg|font-size="1e9"/);
    }
    for (const values of [[1e308, -1e308], [1.7e308], [5e-324, 0], [Number.NaN, Infinity, -Infinity]]) {
      const labels = values.map(() => "l");
      const svg = chartSvg({ kind, labels, series: [{ label: "s", values }], unit: "" })!;
      expect(svg).not.toMatch(/NaN|Infinity/);
    }
  }
  const label = hostile[3]!;
  const svg = chartSvg({ kind: "line", labels: [label], series: [{ label, values: [1e308] }], unit: "" })!;
  expect(lookAt(await pictures.draw(svg))).toMatchObject({ width: 1200 });
});

test("one point, equal points, zeros, negatives and nothing can all be drawn", () => {
  const values = [[5], [0, 0, 0], [3, 3], [-5, 5], [1e12, 1e-3], Array.from({ length: 720 }, (_, i) => i)];
  for (const kind of ["line", "bar"] as const) {
    for (const one of values) {
      const labels = one.map((_, i) => `label ${i}`);
      const svg = chartSvg({ kind, labels, series: [{ label: "s", values: one }], unit: "%" });
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    }
    expect(chartSvg({ kind, labels: [], series: [], unit: "" })).toBeUndefined();
    expect(chartSvg({ kind, labels: [], series: [{ label: "", values: [] }], unit: "" })).toBeUndefined();
  }
});

test("an axis begins at zero, holds every value, and has a handful of round numbers", () => {
  expect(ticksFor([3, 17])).toEqual([0, 5, 10, 15, 20]);
  expect(ticksFor([0.2, 0.9])).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticksFor([-8, 3])).toEqual([-10, -7.5, -5, -2.5, 0, 2.5, 5]);
  expect(ticksFor([0])).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test("a chart says in words what it shows", () => {
  expect(chartWords(line)).toBe("Line chart of a from 1-Jan to 3-Jan");
});
