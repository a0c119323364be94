// A report as an email in HTML. All text from users is escaped.

import { chartWidth, chartWords } from "../report/chart.ts";
import type { Cell, Figure, Report, Section, Table } from "../report/model.ts";
import { computeChange, numberText } from "../report/numbers.ts";
import { cellText, type EmailLinks, isNamed, isNumeric, moreText, toLine } from "./email_text.ts";

export function writeSubject({ title, day }: Report, test: boolean): string {
  return toLine(`${test ? "[Test] " : ""}${title}, ${day}`);
}

const sans = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** The HTML: tables for layout and styles in every tag, since mail clients support little else. */
export function emailHtml(report: Report, links: EmailLinks): string {
  const { title, subject, summary, day, invite, sections, more } = report;
  const about = title === subject ? "" : `${esc(subject)} · `;
  const small = (html: string): string =>
    `<p style="margin:0 0 20px;font-size:13px;color:#6b7280">${html}</p>`;
  const body = [
    `<h1 style="margin:0 0 4px;font-size:22px;line-height:28px;color:#111827">${esc(title)}</h1>`,
    small(`${about}${esc(day)} · ${esc(summary)}`),
    invite === null ? "" : quoteHtml(invite),
    ...sections.map((section, i) => sectionHtml(section, isNamed(report, section), links.chart(i))),
    more > 0 ? small(`${more} more in the dashboard.`) : "",
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
      ? "."
      : " because this address subscribes to the report. " +
        `<a href="${esc(unsubscribe)}" style="color:#6b7280">Unsubscribe from this report</a>.`;
  return (
    `<p style="margin:16px 0 0;font-size:12px;line-height:18px;color:#6b7280;${sans}">` +
    `Sent by Sluice${leave}</p>`
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
    const change = computeChange(figure);
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
  const cellHtml = (cell: Cell, i: number): string =>
    `<td align="${side(i, cell)}" style="${line};color:#1f2937;${wrap(cell)}">${esc(cellText(cell))}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cellHtml).join("")}</tr>`);
  const moreHtml =
    more > 0 ? `<p style="margin:0 0 20px;font-size:12px;color:#6b7280">${moreText(more)}</p>` : "";
  return (
    `<table width="100%" cellpadding="0" cellspacing="0" ` +
    `style="border-collapse:collapse;margin:0 0 ${more > 0 ? 6 : 24}px">` +
    `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody></table>${moreHtml}`
  );
}

/** Escapes HTML. Control characters are removed, since mail clients treat them differently. */
function esc(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return Bun.escapeHTML(text.toWellFormed().replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, ""));
}
