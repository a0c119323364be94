// A report as the JSON of a webhook and of a Slack message.

import { chartWords } from "../report/chart.ts";
import type { Report, Section } from "../report/model.ts";
import { computeChange, numberText } from "../report/numbers.ts";
import { isNamed, toLine } from "./email_text.ts";

/** The body for a webhook. Pictures are base64, so that the receiver needs no access to this server. */
export function webhookBody(report: Report, facts: object, findPng: (i: number) => Uint8Array | undefined) {
  const { title, subject, summary, invite, sections, more } = report;
  return {
    type: "subscription.delivery",
    ...facts,
    title,
    subject,
    summary,
    invite_message: invite,
    insights: sections.map((section, i) => {
      const { insight: id, chart: _drawn, ...rest } = section;
      const png = findPng(i);
      const image = png && {
        content_type: "image/png",
        encoding: "base64",
        data: Buffer.from(png).toString("base64"),
      };
      return { id, ...rest, image: image ?? null };
    }),
    insights_left_out: more,
  };
}

interface Text {
  type: "mrkdwn" | "plain_text";
  text: string;
}

type Block =
  | { type: "header"; text: Text }
  | { type: "section"; text: Text }
  | { type: "context"; elements: Text[] }
  | { type: "image"; image_url: string; alt_text: string }
  | { type: "divider" };

/** Slack's limits: characters of a header, a text and an alternative text; blocks of a message. */
const slack = { header: 150, text: 3000, alternative: 2000, blocks: 50 };

/** The body for a Slack incoming webhook. Slack fetches pictures, so they are URLs. */
export function slackBody(report: Report, viewUrl: string, chartUrl: (i: number) => string | undefined) {
  const { title, subject, summary, day, invite, sections } = report;
  const about = title === subject ? "" : `${slackText(subject)} · `;
  const blocks: Block[] = [
    { type: "header", text: { type: "plain_text", text: cut(toLine(title) || "Report", slack.header) } },
    context(`${about}${day} · ${summary}`),
  ];
  if (invite !== null) blocks.push(section(slackText(invite)));
  sections.forEach((item, i) => {
    blocks.push(...sectionBlocks(item, isNamed(report, item), chartUrl(i)));
  });
  const tail: Block[] = [section(`<${viewUrl}|View in browser>`)];
  if (report.more > 0) tail.unshift(context(`${report.more} more in the dashboard.`));
  const text = cut(`${slackText(toLine(title))}, ${day}`, slack.text);
  return { text, blocks: [...blocks.slice(0, slack.blocks - tail.length), ...tail] };
}

function sectionBlocks(item: Section, named: boolean, chartUrl: string | undefined): Block[] {
  const figures = item.figures.map((figure) => {
    const change = computeChange(figure);
    const value = `*${numberText(figure.value, figure.unit)}*`;
    return `${slackText(figure.label)}: ${value}${change ? ` (${change.text})` : ""}`;
  });
  const lines = [
    named ? `*${slackText(toLine(item.name))}*` : "",
    item.span,
    item.error === null ? "" : `:warning: ${slackText(item.error)}`,
    ...figures,
  ].filter(Boolean);
  const blocks: Block[] = lines.length > 0 ? [section(lines.join("\n"))] : [];
  if (chartUrl !== undefined && item.chart) {
    blocks.push({
      type: "image",
      image_url: chartUrl,
      alt_text: cut(toLine(chartWords(item.chart)), slack.alternative),
    });
  }
  return blocks;
}

function section(text: string): Block {
  return { type: "section", text: { type: "mrkdwn", text: cut(text, slack.text) } };
}

function context(text: string): Block {
  return { type: "context", elements: [{ type: "mrkdwn", text: cut(text, slack.text) }] };
}

/** Escapes the three characters of Slack's markup, so that a text cannot contain a mention or a link. */
function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1).toWellFormed()}…` : text;
}
