// What axe-core finds on a page: serious things only, as one line each.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const source = readFileSync(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}

export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const violations = await page.evaluate<Violation[]>(
    "axe.run(document).then(({ violations }) => violations)",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}
