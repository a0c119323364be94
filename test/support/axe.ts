// What axe-core finds on a page, as one line each.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const source = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}

export async function seriousFindings(page: Page): Promise<string[]> {
  return await findings(page, (impact) => impact === "serious" || impact === "critical");
}

/** Minor ones, too. */
export async function allFindings(page: Page): Promise<string[]> {
  return await findings(page, () => true);
}

/** Of a page whose colours alone have changed since it was read: the rule that depends on them. */
export async function colourFindings(page: Page): Promise<string[]> {
  return await findings(page, () => true, { runOnly: ["color-contrast"] });
}

async function findings(
  page: Page,
  isMeant: (impact: string | null) => boolean,
  options: { runOnly?: string[] } = {},
): Promise<string[]> {
  // A page that was not loaded anew has it.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(source);
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${JSON.stringify({ ...options, resultTypes: ["violations"] })}).then(({ violations }) => violations)`,
  );
  return violations
    .filter(({ impact }) => isMeant(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
