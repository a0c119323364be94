// The parts of a query that decide how its results are shown and described.

export interface QueryDrawing {
  /** PostHog's name of the drawing. */
  display?: string;
  retentionType?: string;
}

import { fieldsOf, sourceOf } from "../values.ts";

/** @param query as it was saved, with the nodes around it. */
export function drawingOf(query: unknown): QueryDrawing {
  const outer = fieldsOf(query);
  const source = sourceOf(query);
  const { display } = "display" in outer ? outer : fieldsOf(source["trendsFilter"]);
  const { retentionType } = fieldsOf(source["retentionFilter"]);
  return {
    ...(typeof display === "string" && { display }),
    ...(source["kind"] === "RetentionQuery" && {
      retentionType: typeof retentionType === "string" ? retentionType : "retention_recurring",
    }),
  };
}
