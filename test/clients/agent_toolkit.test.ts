// PostHog's agent toolkit, as npm has it: what an agent does with insights, dashboards, projects and definitions works,
// and what is not here is refused by a sentence that the agent reads.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { moverTest } from "../support/movers.ts";
import { npmInstall, readyKit, run } from "../support/sdks.ts";
import { personalKey } from "../support/server.ts";
import { fillShop } from "../support/shop.ts";

// Its heavy dependencies are for other ways to use it; package.json puts a light one in their place.
const { folder, missing } = await readyKit({
  files: ["tools/agent_toolkit/package.json", "tools/agent_toolkit/story.mjs"],
  tools: ["node", "npm"],
  install: npmInstall,
});

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  await fillShop(app);
}, startMsMax);

afterAll(cleanUp, startMsMax);

/** What is not here, and the sentence that says so. */
const absent: Record<string, RegExp> = {
  "list-errors": /"ErrorTrackingQuery\\" is not answered by this server\./,
  "surveys-global-stats": /Surveys do not exist on this server/,
  "create-feature-flag": /Feature flags do not exist on this server/,
};

interface Story {
  names: string[];
  gave: Record<string, { text?: string; error?: string }>;
}

test.skipIf(missing !== "")(
  moverTest("PostHog's agent toolkit, `@posthog/agent-toolkit`", "tools/agent_toolkit/package.json") +
    (missing && ` (skipped: ${missing})`),
  async () => {
    const { exitCode, output } = await run(["node", "story.mjs", app.url, personalKey], folder);
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringMatching(/^\{/) as string });
    const { names, gave } = JSON.parse(output) as Story;
    expect(names.length).toBeGreaterThan(40);
    const failed = Object.entries(gave).filter(([, { error }]) => error !== undefined);
    expect(failed.filter(([tool]) => !(tool in absent))).toEqual([]);
    for (const [tool, sentence] of Object.entries(absent)) expect(gave[tool]!.error).toMatch(sentence);
    expect(gave["query-run"]!.text).toContain('"count":140');
    expect(gave["event-definitions-list"]!.text).toContain("bought");
    expect(gave["properties-list"]!.text).toContain("price");
    expect(gave["dashboard-get"]!.text).toContain("Sales by day");
  },
  300_000,
);
