// The figures of an insight as the text of its page, and the same figures of an answer computed apart.

import type { Locator } from "playwright-core";
import { numberText } from "../../src/console/app/ui/format.ts";
import type { Body } from "./client_bodies.ts";

/** A name, such as of a line or of a row, with the texts of its figures. */
type Named = [name: string, texts: string[]];

/** What is used of an element of the page: tests have no types of browsers. */
interface Found {
  textContent: string | null;
  children: Iterable<Found>;
  firstChild: { textContent: string | null } | null;
  querySelector: (selector: string) => Found | null;
  querySelectorAll: (selector: string) => Iterable<Found>;
}

/** A line's name begins with its event, that of pages in words. */
const bareName = (name: string) =>
  name.replace(/^(?:\$pageview|Page views|Visitors) · /, "").replace(/^\((.*)\)$/, "$1");

/** Numbers of four digits have a separator where others of their column have five. */
const bareNumber = (text: string) => text.replace(/^(\d),(\d{3})(?!\d|,)/, "$1$2");

/** What both show, without the names where one has none, else in the order of the names. */
export function comparable(shown: Named[], expected: Named[]): [Named[], Named[]] {
  const isNamed = expected.some(([name]) => name !== "");
  const of = (some: Named[]): Named[] =>
    isNamed
      ? some
          .map(([name, texts]): Named => [bareName(name), texts.map(bareNumber)])
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
      : some.map(([, texts]): Named => ["", texts.map(bareNumber)]);
  return [of(shown), of(expected)];
}

/** What the card of an insight shows; of a table with columns the names are its heads, of others its first cells. */
export async function figuresOf(card: Locator, { cells }: Body): Promise<Named[]> {
  const shown = await shownIn(card);
  if (!cells) return shown;
  return shown.map(([name, texts]) => {
    const [first = "", ...others] = cells.map((i) => [name, ...texts][i]!);
    return [first, others];
  });
}

async function shownIn(card: Locator): Promise<Named[]> {
  return await card.evaluate((root): Named[] => {
    const section = root as unknown as Found;
    const all = (selector: string, inside: Found = section) => [...inside.querySelectorAll(selector)];
    const textOf = (one: Found | null) => one?.textContent?.trim() ?? "";
    const cells = (row: Found) => [...row.children].map(textOf);
    const table = (name: string, inside: Found = section) =>
      all(`[role=group][aria-label="${name}"] tbody tr`, inside).map(cells);
    const lines = table("The numbers of the lines").filter(([first]) => first !== "Sum");
    if (lines.length > 0) {
      const heads = all('[aria-label="The numbers of the lines"] th').map(textOf);
      return heads.slice(1).map((head, i) => [head, lines.map((row) => row[i + 1]!)]);
    }
    const bars = all(".side-bars li");
    if (bars.length > 0) {
      return bars.map((bar) => [
        textOf(bar.querySelector(".cut")),
        [textOf(bar.querySelector("b")).split(" · ")[0]!],
      ]);
    }
    const funnels = all(".funnel");
    if (funnels.length > 0) {
      return funnels.map((one) => [
        textOf(one.querySelector("h3")),
        table("The steps of the funnel", one).map((row) => row[1]!),
      ]);
    }
    const cohorts = all(".cohort tbody tr");
    if (cohorts.length > 0) {
      // A cell is a count and, beneath it, its share.
      const counts = (row: Found) =>
        all("td", row).flatMap(({ firstChild }) => firstChild?.textContent ?? []);
      return cohorts.map((row) => ["", counts(row)]);
    }
    const paths = table("The steps of paths");
    if (paths.length > 0) return paths.map(([from, to, times]) => [`${from} → ${to}`, [times!]]);
    const totals = table("The numbers of the series");
    if (totals.length > 0) return totals.map(([name = "", number = ""]) => [name, [number]]);
    // Durations and shares are words of the page: they are in the overview's test.
    const site = table("The figures of the site").slice(0, 3);
    if (site.length > 0) return site.map(([name = "", value = ""]) => [name.toLowerCase(), [value]]);
    const rows = table("Rows");
    if (rows.length > 0) return rows.map(([first = "", ...others]) => [first, others]);
    return all(".bold-number").map((one) => ["", [textOf(one)]]);
  });
}

/** Numbers of tables have separators from ten thousand on: a year has none. */
const rowsNumber = new Intl.NumberFormat("en", { useGrouping: "min2", maximumFractionDigits: 3 });

/** What an answer that was computed apart must show, in the shape of figuresOf(). */
export function expectedFigures(body: Body): Named[] {
  return cutZeros(body, figuresApart(body));
}

function figuresApart({ is, shown = is, query, cells }: Body): Named[] {
  const answer = shown();
  const isOfRows = /"(?:ActorsQuery|EventsQuery|SessionsQuery|HogQLQuery)"/.test(JSON.stringify(query));
  const text = (value: unknown) => {
    if (typeof value !== "number") return String(value ?? "");
    return isOfRows ? rowsNumber.format(value) : numberText(value);
  };
  if (!Array.isArray(answer)) {
    return Object.entries(answer as object).map(([name, value]) => [
      name.replace(/^(\d)_(.*) → (\d)_/, "$1. $2 → $3. ").replaceAll(",", " · "),
      [value].flat().map(text),
    ]);
  }
  if (!answer.every(Array.isArray)) return [["", answer.map(text)]];
  if (answer.some((row: unknown[]) => typeof row[0] === "string" || isOfRows)) {
    return answer.map((row: unknown[]) => {
      const [first = "", ...others] = (cells ? cells.map((i) => row[i]) : row).map(text);
      return [first, others];
    });
  }
  return answer.map((row: unknown[]) => ["", row.map(text)]);
}

/** Stickiness is shown up to the last number of intervals that anybody has. */
function cutZeros({ query }: Body, figures: Named[]): Named[] {
  if (!JSON.stringify(query).includes('"StickinessQuery"')) return figures;
  return figures.map(([name, texts]) => [
    name,
    texts.slice(0, 1 + texts.findLastIndex((text) => text !== "0")),
  ]);
}
