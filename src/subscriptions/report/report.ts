// What one delivery says, read once and kept with it: a retry says the same. Never asks a store itself.

import { limits } from "../../core/limits.ts";
import { summaryOf, type Schedule } from "../schedule.ts";
import type { Report, Section } from "./model.ts";
import { dayText } from "./numbers.ts";
import { type InsightView, sectionOf } from "./section.ts";

/** What the rooms of insights and dashboards answer; undefined for what is not there. */
export interface InsightReader {
  insight(project_id: number, id: number): Promise<InsightView | undefined>;
  dashboard(project_id: number, id: number): Promise<DashboardView | undefined>;
}

export interface DashboardView {
  id: number;
  name: string;
  insights: readonly InsightView[];
}

export interface ReportWish extends Pick<
  Schedule,
  "frequency" | "interval" | "byweekday" | "bysetpos" | "timezone"
> {
  project_id: number;
  dashboard_id: number | null;
  insight_id: number | null;
  title: string | null;
  invite_message: string | null;
  due_at: Date;
  /** What the last scheduled delivery said. */
  before: Report | null;
}

/** There is nothing to send, and there will not be by waiting. */
export class NothingToSend extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NothingToSend";
  }
}

/**
 * @throws NothingToSend, or whatever the reader says.
 */
export async function makeReport(reader: InsightReader, wish: ReportWish): Promise<Report> {
  const { name, insights } = await contentOf(reader, wish);
  const shown = insights.slice(0, limits.reportInsightsMax);
  // Several at once are for a glance.
  const rowsMax = shown.length > 1 ? limits.dashboardRowsMax : limits.reportRowsMax;
  return {
    title: wish.title || name,
    subject: name,
    summary: summaryOf(wish),
    day: dayText(wish.due_at.getTime(), wish.timezone),
    invite: wish.before === null ? wish.invite_message || null : null,
    sections: shown.map((insight) => sectionOf(insight, sectionIn(wish.before, insight.id), rowsMax)),
    more: insights.length - shown.length,
  };
}

async function contentOf(
  reader: InsightReader,
  { project_id, dashboard_id, insight_id }: ReportWish,
): Promise<{ name: string; insights: readonly InsightView[] }> {
  if (dashboard_id !== null) {
    const found = await reader.dashboard(project_id, dashboard_id);
    if (!found) throw new NothingToSend("The dashboard was deleted.");
    return { name: found.name || `Dashboard ${found.id}`, insights: found.insights };
  }
  if (insight_id === null)
    throw new NothingToSend("The subscription names neither an insight nor a dashboard.");
  const found = await reader.insight(project_id, insight_id);
  if (!found) throw new NothingToSend("The insight was deleted.");
  return { name: found.name || `Insight ${found.id}`, insights: [found] };
}

function sectionIn(report: Report | null, insight: number): Section | undefined {
  return report?.sections.find((section) => section.insight === insight);
}
