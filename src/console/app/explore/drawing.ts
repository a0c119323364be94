// The parts of a query that decide how its results are shown and described.

export interface QueryDrawing {
  /** PostHog's name of the drawing. */
  display?: string;
  retentionType?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** @param query as it was saved, with the nodes around it. */
export function drawingOf(query: unknown): QueryDrawing {
  const outer = partOf({ query }, "query");
  const source = sourceOf(query);
  const { display } = "display" in outer ? outer : partOf(source, "trendsFilter");
  const { retentionType } = partOf(source, "retentionFilter");
  return {
    ...(typeof display === "string" && { display }),
    ...(source["kind"] === "RetentionQuery" && {
      retentionType: typeof retentionType === "string" ? retentionType : "retention_recurring",
    }),
  };
}

/** A saved query without the nodes around it. */
export function sourceOf(query: unknown): Fields {
  const outer = partOf({ query }, "query");
  return "source" in outer ? partOf(outer, "source") : outer;
}

function partOf(fields: Fields, name: string): Fields {
  const value = fields[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
