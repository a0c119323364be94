// Makes the report of one delivery. It is stored with the delivery, so that a retry sends the same.

import { subscriptionLimits } from "../limits.ts";
import { type Rhythm, type Schedule, summarize } from "../schedule.ts";
import type { Report } from "./model.ts";
import { dayText } from "./numbers.ts";
import { buildSection, type InsightView } from "./section.ts";

/** Reads insights and dashboards with their results; undefined for what does not exist. */
export interface ReportReader {
  insight(project_id: number, id: number): Promise<InsightView | undefined>;
  /** @param insightIds only these insights of it; all where it is empty. */
  dashboard(
    project_id: number,
    id: number,
    insightIds: readonly number[],
  ): Promise<DashboardView | undefined>;
}

export interface DashboardView {
  id: number;
  name: string;
  insights: readonly InsightView[];
}

export interface ReportRequest extends Rhythm, Pick<Schedule, "timezone"> {
  project_id: number;
  dashboard_id: number | null;
  insight_id: number | null;
  dashboard_export_insights: readonly number[];
  title: string | null;
  invite_message: string | null;
  due_at: Date;
  /** The report of the last scheduled delivery. */
  before: Report | null;
}

/** There is nothing to send, and a retry would not change that. */
export class NothingToSend extends Error {}

/** @throws NothingToSend, or the reader's error. */
export async function makeReport(reader: ReportReader, input: ReportRequest): Promise<Report> {
  const { name, insights } = await readContent(reader, input);
  const items = insights.slice(0, subscriptionLimits.reportInsightsMax);
  // Several insights get short tables.
  const rowsMax = items.length > 1 ? subscriptionLimits.dashboardRowsMax : subscriptionLimits.reportRowsMax;
  const before = new Map(input.before?.sections.map((section) => [section.insight, section]));
  return {
    title: input.title || name,
    subject: name,
    summary: summarize(input),
    day: dayText(input.due_at.getTime(), input.timezone),
    invite: input.before === null ? input.invite_message || null : null,
    sections: items.map((insight) => buildSection(insight, before.get(insight.id), rowsMax)),
    more: insights.length - items.length,
  };
}

async function readContent(reader: ReportReader, request: ReportRequest) {
  const { project_id, dashboard_id, insight_id, dashboard_export_insights: insightIds } = request;
  if (dashboard_id !== null) {
    const found = await reader.dashboard(project_id, dashboard_id, insightIds);
    if (!found) throw new NothingToSend("The dashboard was deleted.");
    return { name: found.name || `Dashboard ${found.id}`, insights: found.insights };
  }
  if (insight_id === null)
    throw new NothingToSend("The subscription names neither an insight nor a dashboard.");
  const found = await reader.insight(project_id, insight_id);
  if (!found) throw new NothingToSend("The insight was deleted.");
  return { name: found.name || `Insight ${found.id}`, insights: [found] };
}
