import { expect, test } from "bun:test";
import { inkAt } from "../../../../src/console/app/ui/ink.ts";

/** WCAG's contrast of a colour `#rrggbb` with a background. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [r, g, b] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const [high, low] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (high! + 0.05) / (low! + 0.05);
}

test("colours of a chart do not repeat, and stand out from the background", () => {
  for (const [isDark, ground] of [
    [false, "#ffffff"],
    [true, "#181c22"],
  ] as const) {
    const inks = Array.from({ length: 226 }, (_, i) => inkAt(i, isDark));
    expect(new Set(inks).size).toBe(inks.length);
    expect(inks.filter((ink) => contrast(ink, ground) < 3)).toEqual([]);
  }
});
