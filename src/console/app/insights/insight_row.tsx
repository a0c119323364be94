// An insight as the API shows it, and its result as a picture; saving a query as one.

import { useContext } from "preact/hooks";
import { readDrawing, type ResultType } from "../../../query/result.ts";
import { FigureSource } from "../actors/figures.tsx";
import { ResultView, type ViewProps } from "../explore/result_view.tsx";
import { readResults } from "../explore/results.ts";
import { filterSentences } from "../filters/filter_text.ts";
import { ChartPlace } from "../ui/chart/notes.tsx";
import { unwrapQuery } from "../values.ts";

export interface InsightRow {
  id: number;
  name: string | null;
  derived_name: string | null;
  description: string | null;
  query: unknown;
  dashboards: number[];
  favorited: boolean;
  /** A list, except of the times of a funnel. */
  result: unknown;
  result_type: ResultType | null;
  columns: string[] | null;
  types: string[] | null;
  query_status: { error: boolean; error_message: string | null } | null;
  last_modified_at: string;
}

export function insightName({ name, derived_name, id }: InsightRow): string {
  return name || derived_name || `Insight ${id}`;
}

interface ResultProps extends Pick<ViewProps, "small" | "height"> {
  insight: InsightRow;
}

export function InsightResult({ insight, ...view }: ResultProps) {
  const place = useContext(ChartPlace);
  const { result: results, result_type, columns, types, query, query_status } = insight;
  if (query_status?.error)
    return <p class="notice bad">{query_status.error_message ?? "Its query failed."}</p>;
  // Nobody takes its figures for those of all events.
  const sentences = filterSentences(unwrapQuery(query));
  return (
    <ChartPlace.Provider value={{ ...place, insight: insight.id }}>
      <FigureSource query={query}>
        {sentences.length > 0 && <p class="quiet filters">{sentences.join(" ")}</p>}
        <ResultView
          {...readResults({ result_type: result_type ?? "table", results })}
          columns={columns ?? []}
          types={types ?? []}
          drawing={readDrawing(query)}
          query={query}
          name={insightName(insight)}
          {...view}
        />
      </FigureSource>
    </ChartPlace.Provider>
  );
}
