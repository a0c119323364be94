// A report as an email, in HTML and in plain text. All text from users is escaped.

import { chartWidth, chartWords } from "../report/chart.ts";
import type { Cell, Figure, Report, Section, Table } from "../report/model.ts";
import { changeOf, numberText } from "../report/numbers.ts";

interface EmailLinks {
  /** The URL of the report as a page; undefined on that page itself. */
  view?: string | undefined;
  /** The URL that unsubscribes the recipient; undefined on the page, which anybody may read. */
  unsubscribe?: string | undefined;
  /** The URL of the chart of the i-th section; undefined when it has none. */
  chart(i: number): string | undefined;
}

/** The text on one line: a newline in a subject would begin another header. */
export function lineOf(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]+/g, " ").trim();
}

export function subjectOf({ title, day }: Report, test: boolean): string {
  return lineOf(`${test ? "[Test] " : ""}${title}, ${day}`);
}

const sans = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** The HTML: tables for layout and styles in every tag, since mail clients support little else. */
export function emailHtml(report: Report, links: EmailLinks): string {
  const { title, subject, summary, day, invite, sections, more } = report;
  const about = title === subject ? "" : `${esc(subject)} · `;
  const body = [
    `<h1 style="margin:0 0 4px;font-size:22px;line-height:28px;color:#111827">${esc(title)}</h1>`,
    `<p style="margin:0 0 20px;font-size:13px;color:#6b7280">${about}${esc(day)} · ${esc(summary)}</p>`,
    invite === null ? "" : quoteHtml(invite),
    ...sections.map((section, i) =>
      sectionHtml(section, sections.length > 1 || title !== section.name, links.chart(i)),
    ),
    more > 0
      ? `<p style="margin:0 0 20px;font-size:13px;color:#6b7280">${more} more in the dashboard.</p>`
      : "",
    links.view === undefined ? "" : buttonHtml(links.view),
  ];
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light">` +
    `<title>${esc(title)}</title></head><body style="margin:0;padding:0;background:#f3f4f6;${sans}">` +
    `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f3f4f6"><tr>` +
    `<td align="center" style="padding:24px 8px">` +
    `<table role="presentation" width="${chartWidth + 48}" cellpadding="0" ` +
    `cellspacing="0" style="width:100%;max-width:${chartWidth + 48}px;background:#ffffff;border-radius:8px"><tr>` +
    `<td style="padding:24px;${sans}">${body.join("")}</td></tr></table>${footHtml(links)}` +
    `</td></tr></table></body></html>`
  );
}

function buttonHtml(url: string): string {
  return (
    `<p style="margin:0 0 8px"><a href="${esc(url)}" style="display:inline-block;padding:10px 18px;` +
    `border-radius:6px;background:#2563eb;color:#ffffff;font-size:14px;text-decoration:none">View in browser</a></p>`
  );
}

function footHtml({ unsubscribe }: EmailLinks): string {
  const leave =
    unsubscribe === undefined
      ? ""
      : ` <a href="${esc(unsubscribe)}" style="color:#6b7280">Unsubscribe from this report</a>.`;
  const why = unsubscribe === undefined ? "" : " because this address subscribes to the report";
  return (
    `<p style="margin:16px 0 0;font-size:12px;line-height:18px;color:#6b7280;${sans}">` +
    `Sent by Sluice${why}.${leave}</p>`
  );
}

function quoteHtml(text: string): string {
  const lines = esc(text).replace(/\r\n|\r|\n/g, "<br>");
  const style =
    "margin:0 0 20px;padding:10px 14px;border-left:3px solid #2563eb;background:#eff6ff;font-size:14px";
  return `<p style="${style};color:#1f2937">${lines}</p>`;
}

function sectionHtml(section: Section, named: boolean, chart: string | undefined): string {
  const { name, span, error, figures, table } = section;
  const words = section.chart ? chartWords(section.chart) : "";
  return [
    named ? `<h2 style="margin:0 0 2px;font-size:17px;line-height:24px;color:#111827">${esc(name)}</h2>` : "",
    span ? `<p style="margin:0 0 12px;font-size:12px;color:#6b7280">${esc(span)}</p>` : "",
    error === null ? "" : `<p style="margin:0 0 20px;font-size:14px;color:#b91c1c">${esc(error)}</p>`,
    figures.length > 0 ? figuresHtml(figures) : "",
    chart === undefined
      ? ""
      : `<img src="${esc(chart)}" width="${chartWidth}" alt="${esc(words)}" style="display:block;width:100%;` +
        `max-width:${chartWidth}px;height:auto;margin:0 0 12px;border:0">`,
    table === null ? "" : tableHtml(table),
    error === null && table === null && chart === undefined
      ? `<p style="margin:0 0 20px;font-size:14px;color:#6b7280">There is nothing in this time.</p>`
      : "",
  ].join("");
}

function figuresHtml(figures: readonly Figure[]): string {
  const cells = figures.map((figure) => {
    const change = changeOf(figure);
    const colour = change?.up === true ? "#047857" : change?.up === false ? "#b91c1c" : "#6b7280";
    return (
      `<td valign="top" style="padding:0 20px 12px 0">` +
      `<div style="font-size:12px;color:#6b7280">${esc(figure.label)}</div>` +
      `<div style="font-size:26px;line-height:32px;font-weight:600;color:#111827">` +
      `${esc(numberText(figure.value, figure.unit))}</div>` +
      (change ? `<div style="font-size:12px;color:${colour}">${esc(change.text)}</div>` : "") +
      `</td>`
    );
  });
  return `<table role="presentation" cellpadding="0" cellspacing="0"><tr>${cells.join("")}</tr></table>`;
}

function tableHtml({ columns, rows, more }: Table): string {
  const line = "padding:6px 6px;border-bottom:1px solid #e5e7eb;font-size:13px";
  const wrap = (cell: Cell): string => (isNumeric(cell) ? "white-space:nowrap" : "overflow-wrap:anywhere");
  const side = (i: number, cell: Cell | undefined): string => (i > 0 && isNumeric(cell) ? "right" : "left");
  const head = columns.map(
    (column, i) =>
      `<th align="${side(i, rows[0]?.[i])}" style="${line};color:#6b7280;font-weight:600;overflow-wrap:break-word">` +
      `${esc(column)}</th>`,
  );
  const body = rows.map(
    (row) =>
      `<tr>${row
        .map(
          (cell, i) =>
            `<td align="${side(i, cell)}" style="${line};color:#1f2937;${wrap(cell)}">${esc(cellText(cell))}</td>`,
        )
        .join("")}</tr>`,
  );
  const rest =
    more > 0 ? `<p style="margin:0 0 20px;font-size:12px;color:#6b7280">${moreText(more)}</p>` : "";
  return (
    `<table width="100%" cellpadding="0" cellspacing="0" ` +
    `style="border-collapse:collapse;margin:0 0 ${more > 0 ? 6 : 24}px">` +
    `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody></table>${rest}`
  );
}

/** The plain text, with tables in aligned columns. */
export function emailText(report: Report, links: EmailLinks): string {
  const { title, subject, summary, day, invite, sections, more } = report;
  const named = (section: Section): boolean => sections.length > 1 || title !== section.name;
  const parts = [
    `${lineOf(title)}\n${"=".repeat(Math.min(70, [...lineOf(title)].length))}`,
    [title === subject ? "" : lineOf(subject), `${day}, ${summary}`].filter(Boolean).join("\n"),
    invite === null ? "" : plainLines(invite),
    ...sections.map((section) => sectionText(section, named(section))),
    more > 0 ? `${more} more in the dashboard.` : "",
    links.view === undefined ? "" : `View in browser: ${links.view}`,
    links.unsubscribe === undefined ? "" : `Unsubscribe from this report: ${links.unsubscribe}`,
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function sectionText({ name, span, error, figures, table }: Section, named: boolean): string {
  const numbers = figures.map((figure) => {
    const change = changeOf(figure);
    return `${lineOf(figure.label)}: ${numberText(figure.value, figure.unit)}${change ? `, ${change.text}` : ""}`;
  });
  const head = named ? `${lineOf(name)}\n${"-".repeat(Math.min(70, [...lineOf(name)].length))}` : "";
  const lines = [head, span, error ?? "", numbers.join("\n")].filter(Boolean).join("\n");
  const rest =
    table === null
      ? error === null && numbers.length === 0
        ? "There is nothing in this time."
        : ""
      : tableText(table);
  return [lines, rest].filter(Boolean).join("\n\n");
}

function tableText({ columns, rows, more }: Table): string {
  const cells = [columns.map(lineOf), ...rows.map((row) => row.map((cell) => lineOf(cellText(cell))))];
  const widths = columns.map((_, i) =>
    Math.min(40, Math.max(...cells.map((row) => [...(row[i] ?? "")].length))),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, i) => {
        const width = widths[i] ?? 0;
        const text = [...cell].length > width ? `${[...cell].slice(0, width - 1).join("")}…` : cell;
        return i > 0 && isNumeric(rows[0]?.[i]) ? text.padStart(width) : text.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [lines[0], rule, ...lines.slice(1), ...(more > 0 ? [moreText(more)] : [])].join("\n");
}

function moreText(rows: number): string {
  return rows === 1 ? "One more row is left out." : `${numberText(rows)} more rows are left out.`;
}

function cellText(cell: Cell | undefined): string {
  return typeof cell === "number" ? numberText(cell) : (cell ?? "");
}

/** Numbers, percentages and durations are aligned to the right. */
function isNumeric(cell: Cell | undefined): boolean {
  return typeof cell === "number" || (typeof cell === "string" && /^[\d.,]+ ?(%|s|min|h|d)?$|^$/.test(cell));
}

function plainLines(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map(lineOf)
    .join("\n");
}

/** Escapes HTML. Control characters are removed, since mail clients treat them differently. */
function esc(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return Bun.escapeHTML(text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, ""));
}
