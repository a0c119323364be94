// An insight as the API shows it, and its result as a picture; saving a query as one.

import type { ResultType } from "../../../query/result.ts";
import { FigureSource } from "../actors/figures.tsx";
import { ResultView, type ViewProps } from "../explore/result_view.tsx";
import { readDrawing, readResults } from "../explore/results.ts";
import { filterSentences } from "../filters/filter_text.ts";
import { navigate } from "../session/route.ts";
import { useAllowed, useHref } from "../session/session.ts";
import { useAction, useGet } from "../session/use_loaded.ts";
import { useFields } from "../ui/inputs.tsx";
import { Button, Cut, ErrorText, Form, Outcome } from "../ui/parts.tsx";
import { toSource } from "../values.ts";

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
  const { result: results, result_type, columns, types, query, query_status } = insight;
  if (query_status?.error)
    return <p class="notice bad">{query_status.error_message ?? "Its query failed."}</p>;
  return (
    <FigureSource query={query}>
      <Filters query={query} />
      <ResultView
        {...readResults({ result_type: result_type ?? "table", results })}
        columns={columns ?? []}
        types={types ?? []}
        drawing={readDrawing(query)}
        query={query}
        {...view}
      />
    </FigureSource>
  );
}

/** Its filters in words, so that nobody takes its figures for those of all events. */
function Filters({ query }: { query: unknown }) {
  const sentences = filterSentences(toSource(query));
  return sentences.length > 0 ? <p class="quiet filters">{sentences.join(" ")}</p> : null;
}

/** Whether the key may save a query, which also requires the right to run it. */
export function useMaySave(): boolean {
  const mayQuery = useAllowed("query:read");
  return useAllowed("insight:write") && mayQuery;
}

interface SavingProps {
  /** Makes what is saved; `before` is what the insight has, undefined for a new one. */
  makeQuery: (before: unknown) => object;
  /** The insight that is edited; 0 for none. */
  insight: number;
  isReady?: boolean;
}

export function Saving({ makeQuery, insight, isReady = true }: SavingProps) {
  if (!useMaySave()) return null;
  return (
    <div class="saving">
      {insight > 0 && <SaveChanges key={insight} {...{ makeQuery, insight, isReady }} />}
      <SaveNew makeQuery={makeQuery} isReady={isReady} />
    </div>
  );
}

function SaveNew({ makeQuery, isReady = true }: Pick<SavingProps, "makeQuery" | "isReady">) {
  const hrefOf = useHref();
  const { fields, text } = useFields({ name: "" });
  const action = useAction();
  const body = () => ({ query: makeQuery(undefined), name: fields.name || null });
  const open = ({ id }: InsightRow) => navigate(hrefOf("insights", [id]));
  const save = () => action.send("POST", "insights/", body, "Saved.", open);
  return (
    <>
      <Form send={save}>
        {text("name", "Name of the insight")}
        <Button type="submit" disabled={action.running || !isReady}>
          Save as insight
        </Button>
      </Form>
      <Outcome action={action} />
    </>
  );
}

const nameLettersMax = 60;

function SaveChanges({ makeQuery, insight, isReady = true }: SavingProps) {
  const path = `insights/${insight}/`;
  const loaded = useGet<InsightRow>(path, { refresh: "false" });
  const action = useAction();
  const { value: saved } = loaded;
  const href = useHref()("insights", [insight]);
  const body = () => ({ query: makeQuery(saved!.query) });
  const save = () => action.send("PATCH", path, body, "Saved.", () => navigate(href));
  return (
    <>
      <ErrorText error={loaded.error} />
      <p class="page-actions">
        <Button kind="primary" disabled={action.running || !isReady || !saved} onClick={save}>
          Save changes
        </Button>
        <span class="quiet">
          in the place of what{" "}
          <a href={href}>
            <Cut
              text={saved?.name || saved?.derived_name || `insight ${insight}`}
              lettersMax={nameLettersMax}
            />
          </a>{" "}
          asks, on dashboards and in subscriptions too.
        </span>
      </p>
      <Outcome action={action} />
    </>
  );
}
