// A project with the made-up shop in it: made over the API, as a program of a user's would, and gone with its project.

import { makeRecording } from "./recording.ts";
import { Shop, shopDays, type ShopEvent } from "./shop.ts";

/** Sends a request to a path of the server. @throws when it is refused. */
export type Send = <Reply>(
  method: "POST" | "PATCH" | "DELETE",
  path: string,
  body?: object,
) => Promise<Reply>;

export interface DemoProject {
  id: number;
  api_token: string;
}

/** The project's name, by which it is known later: renamed, it is a project like any other. */
export const demoName = "Demo shop (made up)";

/** Events of one body. */
const batchEvents = 1000;

/**
 * Makes the project, its events, a recording and a dashboard; takes it away again when a request is refused.
 * @param now ms since 1970. @param report is told how many events are sent.
 */
export async function makeDemo(
  send: Send,
  now: number,
  report: (events: number) => void,
): Promise<DemoProject> {
  const settings = { name: demoName, session_recording_opt_in: true };
  const project = await send<DemoProject>("POST", "/api/projects/", settings);
  try {
    await fillProject(send, project, now, report);
    return project;
  } catch (thrown) {
    await send("DELETE", `/api/projects/${project.id}/`);
    throw thrown;
  }
}

async function fillProject(
  send: Send,
  { id, api_token }: DemoProject,
  now: number,
  report: (events: number) => void,
): Promise<void> {
  const shop = new Shop(now);
  let sent = 0;
  const sendBatch = async (batch: readonly ShopEvent[]): Promise<void> => {
    if (batch.length === 0) return;
    await send("POST", "/batch/", { api_key: api_token, historical_migration: true, batch });
    report((sent += batch.length));
  };
  let batch: ShopEvent[] = [];
  for (const event of shop.events()) {
    if (batch.push(event) < batchEvents) continue;
    await sendBatch(batch);
    batch = [];
  }
  await sendBatch(batch);
  if (shop.recorded) await send("POST", "/s/", makeRecording(shop.recorded, api_token));
  await makeDashboard(send, `/api/projects/${id}`);
}

async function makeDashboard(send: Send, home: string): Promise<void> {
  const board = await send<{ id: number }>("POST", `${home}/dashboards/`, {
    name: "The shop",
    description: "Made-up figures of ninety days.",
    pinned: true,
  });
  for (const [name, query] of Object.entries(queries))
    await send("POST", `${home}/insights/`, { name, query, saved: true, dashboards: [board.id] });
  const text = {
    body: "A made-up shop: every figure here is invented, and the project goes with one click on Start.",
  };
  await send("PATCH", `${home}/dashboards/${board.id}/`, { tiles: [{ text }] });
}

const dateRange = { date_from: `-${shopDays}d` };
const paid = { kind: "EventsNode", event: "order paid" };

const queries: Readonly<Record<string, object>> = {
  "Visitors a week": {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "$pageview", math: "dau" }],
    interval: "week",
    dateRange,
  },
  "From a product to an order": {
    kind: "FunnelsQuery",
    series: ["$pageview", "added to cart", "checkout started", "order paid"].map((event) => ({
      kind: "EventsNode",
      event,
    })),
    dateRange,
  },
  "Revenue a week": {
    kind: "TrendsQuery",
    series: [{ ...paid, math: "sum", math_property: "amount" }],
    interval: "week",
    dateRange,
    trendsFilter: { display: "ActionsBar" },
  },
  "Revenue by source": {
    kind: "TrendsQuery",
    series: [{ ...paid, math: "sum", math_property: "amount" }],
    breakdownFilter: { breakdown: "$referring_domain", breakdown_type: "event" },
    dateRange,
    trendsFilter: { display: "ActionsBarValue" },
  },
  "Who comes back": {
    kind: "RetentionQuery",
    retentionFilter: {
      targetEntity: { id: "$pageview", type: "events" },
      returningEntity: { id: "$pageview", type: "events" },
      period: "Week",
      totalIntervals: 9,
    },
    dateRange,
  },
  "Orders by company": {
    kind: "TrendsQuery",
    series: [paid],
    breakdownFilter: { breakdown: "name", breakdown_type: "group", breakdown_group_type_index: 0 },
    dateRange,
    trendsFilter: { display: "ActionsTable" },
  },
};
