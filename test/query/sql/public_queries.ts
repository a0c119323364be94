// Shapes of queries that PostHog's documentation, templates and articles show, and what they are asked with.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Those that begin with `refused ` are not answered. */
export const publicQueries = readFileSync(join(import.meta.dir, "../../fixtures/hogql/queries.txt"), "utf8")
  .split("\n")
  .filter((line) => line !== "");

export const publicContext = {
  values: { distinct_ids: ["u1", "u2"] },
  variables: { event: "purchase" },
  filters: { from: "2024-03-02 00:00:00.000000", to: "2024-03-04 00:00:00.000000", properties: [] },
};
