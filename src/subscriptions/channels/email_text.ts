// A report as plain text, and what its two forms share.

import { trimToChars } from "../../core/trim.ts";
import type { Cell, Report, Section, Table } from "../report/model.ts";
import { computeChange, numberText } from "../report/numbers.ts";

export interface EmailLinks {
  /** The URL of the report as a page; undefined on that page itself. */
  view?: string | undefined;
  /** The URL that unsubscribes the recipient; undefined on the page, which anybody may read. */
  unsubscribe?: string | undefined;
  /** The URL of the chart of the i-th section; undefined when it has none. */
  chart(i: number): string | undefined;
}

/** The text on one line: a newline in a subject would begin another header. */
export function toLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]+/g, " ").trim();
}

/** Whether a section shows its name: not where the title does. */
export function isNamed({ sections, title }: Report, { name }: Section): boolean {
  return sections.length > 1 || title !== name;
}

/** The plain text, with tables in aligned columns. */
export function emailText(report: Report, links: EmailLinks): string {
  const { title, subject, summary, day, invite, sections, more } = report;
  const parts = [
    underlined(title, "="),
    [title === subject ? "" : toLine(subject), `${day}, ${summary}`].filter(Boolean).join("\n"),
    (invite ?? "")
      .split(/\r\n|\r|\n/)
      .map(toLine)
      .join("\n"),
    ...sections.map((section) => sectionText(section, isNamed(report, section))),
    more > 0 ? `${more} more in the dashboard.` : "",
    links.view === undefined ? "" : `View in browser: ${links.view}`,
    links.unsubscribe === undefined ? "" : `Unsubscribe from this report: ${links.unsubscribe}`,
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function sectionText({ name, span, error, figures, table }: Section, named: boolean): string {
  const numbers = figures.map((figure) => {
    const change = computeChange(figure);
    return `${toLine(figure.label)}: ${numberText(figure.value, figure.unit)}${change ? `, ${change.text}` : ""}`;
  });
  const head = named ? underlined(name, "-") : "";
  const lines = [head, span, error ?? "", numbers.join("\n")].filter(Boolean).join("\n");
  const isEmpty = table === null && error === null && numbers.length === 0;
  const rest = isEmpty ? "There is nothing in this time." : table && tableText(table);
  return [lines, rest].filter(Boolean).join("\n\n");
}

function tableText({ columns, rows, more }: Table): string {
  const cells = [columns.map(toLine), ...rows.map((row) => row.map((cell) => toLine(cellText(cell))))];
  const widths = columns.map((_, i) =>
    Math.min(40, Math.max(...cells.map((row) => [...(row[i] ?? "")].length))),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, i) => {
        const width = widths[i] ?? 0;
        const text = trimToChars(cell, width);
        return i > 0 && isNumeric(rows[0]?.[i]) ? text.padStart(width) : text.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [lines[0], rule, ...lines.slice(1), ...(more > 0 ? [moreText(more)] : [])].join("\n");
}

export function moreText(rows: number): string {
  return rows === 1 ? "One more row is left out." : `${numberText(rows)} more rows are left out.`;
}

export function cellText(cell: Cell | undefined): string {
  return typeof cell === "number" ? numberText(cell) : (cell ?? "");
}

/** Numbers, percentages and durations are aligned to the right. */
export function isNumeric(cell: Cell | undefined): boolean {
  return typeof cell === "number" || (typeof cell === "string" && /^[\d.,]+ ?(%|s|min|h|d)?$|^$/.test(cell));
}

function underlined(text: string, character: string): string {
  const line = toLine(text);
  return `${line}\n${character.repeat(Math.min(70, [...line].length))}`;
}
