// A program that sends two requests to an application of its own and prints, as JSON, which files of src each passed.
// Runs with trace.ts loaded before it.

import { eventTexts } from "../../bench/events.ts";
import { uploadLimits } from "../../src/work/bodies/limits.ts";
import { startApp } from "./app.ts";
import { cleanUp } from "./cleanup.ts";
import { personalKey, projectKey } from "./server.ts";
import { passed } from "./trace.ts";

// Nothing is flushed meanwhile: the segment that a flush took would be replaced on a request's behalf.
const app = await startApp({ FLUSH_INTERVAL_MS: "3600000" });
const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };

async function trace(path: string, body?: string): Promise<string[]> {
  // The timer that looked after the body before has ended.
  await Bun.sleep(3 * uploadLimits.pollMs);
  passed.clear();
  const init = body === undefined ? { headers } : { method: "POST", headers, body };
  const response = await fetch(app.url + path, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return [...passed];
}

/** Nine thousand events of 550 bytes are 5 MB. */
function batch(first: number): string {
  const events = eventTexts({ count: 9000, first }).join(",");
  return `{"api_key":"${projectKey}","historical_migration":true,"batch":[${events}]}`;
}

await trace("/batch/", batch(0));
const body = await trace("/batch/", batch(9000));
const source = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "$pageview" }] };
await trace("/api/projects/1/insights/", JSON.stringify({ query: { kind: "InsightVizNode", source } }));
const read = await trace("/api/projects/1/insights/");
process.stdout.write(`${JSON.stringify({ body, read })}\n`);
await cleanUp();
process.exit(0);
