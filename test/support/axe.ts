// What axe-core finds on a page, as one line each.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const source = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

interface Violation {
  id: string;
  nodes: { html: string }[];
}

/** Minor ones, too. */
export async function allFindings(page: Page): Promise<string[]> {
  return await findings(page);
}

/** Of a page whose colours alone have changed since it was read: the rule that depends on them. */
export async function colourFindings(page: Page): Promise<string[]> {
  return await findings(page, { runOnly: ["color-contrast"] });
}

async function findings(page: Page, options: { runOnly?: string[] } = {}): Promise<string[]> {
  // The player's frame is examined with its page. A page that was not loaded anew has it.
  const frames = page.frames().filter((frame) => frame.url().includes("/console/player"));
  for (const frame of new Set([page.mainFrame(), ...frames])) {
    if (!(await frame.evaluate<boolean>("'axe' in window"))) await frame.evaluate(source);
  }
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${JSON.stringify({ ...options, resultTypes: ["violations"] })}).then(({ violations }) => violations)`,
  );
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
  );
}
