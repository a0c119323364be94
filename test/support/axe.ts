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

async function findings(page: Page, isMeant: (impact: string | null) => boolean): Promise<string[]> {
  await page.evaluate(source);
  const violations = await page.evaluate<Violation[]>(
    "axe.run(document).then(({ violations }) => violations)",
  );
  return violations
    .filter(({ impact }) => isMeant(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
