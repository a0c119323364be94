// The SQL page: a query in the editor, its rows as a table or a chart, and saving it as an insight.

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { toChartRows } from "../../../query/results/chart_rows.ts";
import { ResultView } from "../explore/result_view.tsx";
import { readResults, type RowsReply } from "../explore/results.ts";
import { Saving } from "../explore/saving.tsx";
import { useProjectNames } from "../filters/property_names.tsx";
import { readReply, toMessage } from "../session/api.ts";
import { navigate, type Route } from "../session/route.ts";
import { useHref } from "../session/session.ts";
import { type Loaded, useLoaded, useRead } from "../session/use_loaded.ts";
import { Button, Card, LoadError, Loading, PageHead, WhenLoaded } from "../ui/parts.tsx";
import type { SqlWords } from "./completion.ts";
import { SqlEditor } from "./editor.tsx";
import { Schema } from "./schema.tsx";
import { displays, errorRangeIn, nodeWith, readSavedSql, sourceWith } from "./sql_query.ts";

const firstQuery = `select toDate(timestamp) as day, count() as events, count(distinct person_id) as persons
from events
where timestamp >= now() - interval 14 day
group by day
order by day`;

interface Saved {
  query: unknown;
}

export function Sql({ route }: { route: Route }) {
  const insight = Number(route.query.get("insight"));
  const saved = useRead(
    async (api, signal) =>
      insight > 0 ? await api.get<Saved>(`insights/${insight}/`, { refresh: "false" }, signal) : null,
    [insight],
  );
  return (
    <>
      <PageHead title={insight > 0 ? "Edit an insight" : "SQL"} />
      <WhenLoaded loaded={saved}>
        {(row) => <Workbench key={insight} route={route} insight={insight} row={row} />}
      </WhenLoaded>
    </>
  );
}

function Workbench({ route, insight, row }: { route: Route; insight: number; row: Saved | null }) {
  const hrefOf = useHref();
  const saved = row ? readSavedSql(row.query) : undefined;
  const start = route.query.get("query") ?? saved?.text ?? "";
  const display = route.query.get("display") ?? saved?.display ?? "ActionsTable";
  const [edited, setEdited] = useState({ of: start, text: start || firstQuery });
  // Another address, as after going back, has another text.
  const text = edited.of === start ? edited.text : start || firstQuery;
  const { events, properties } = useProjectNames();
  const names = useMemo(() => {
    const { event = [], person = [] } = properties;
    return { name: events.map((item) => item.name), event, person, group: [] };
  }, [events]);
  // Without the words of the language the editor offers nothing.
  const words = useLoaded((signal) => readReply<SqlWords>("/console/assets/sql.json", { signal }), []).value;
  const errorId = useId();
  const show = (query: string, drawn: string) =>
    navigate(hrefOf("sql", [], { ...(insight > 0 && { insight: String(insight) }), query, display: drawn }));
  const loaded = useRead(
    async (api, signal) => (start === "" ? null : await api.ask<RowsReply>(sourceWith(saved, start), signal)),
    [start],
  );
  const field = useRef<HTMLTextAreaElement>(null);
  const write = (next: string) => setEdited({ of: start, text: next });
  const run = () => (text === start ? loaded.reload() : show(text, display));
  const errorRange =
    loaded.error && !loaded.loading && text === start
      ? errorRangeIn(toMessage(loaded.error), text)
      : undefined;
  return (
    <>
      <Card>
        <div class="desk">
          <div>
            <SqlEditor
              value={text}
              set={write}
              field={field}
              run={run}
              errorRange={errorRange}
              errorId={errorId}
              words={words}
              names={names}
            />
            <div class="page-actions">
              <Button kind="primary" onClick={run}>
                Run
              </Button>
              <span class="quiet">Ctrl+Enter runs it, Ctrl+Space offers names.</span>
              {start !== "" && text !== start && <span class="tag">changed since it was run</span>}
            </div>
            <Saving
              makeQuery={() => nodeWith(saved, text, display)}
              insight={saved ? insight : 0}
              isReady={text.trim() !== ""}
            />
          </div>
          <Schema insert={(name) => write(writeAtCaret(field.current!, name))} />
        </div>
      </Card>
      {start !== "" && (
        <Card>
          <div id={errorId}>{!loaded.loading && <LoadError loaded={loaded} />}</div>
          {renderAnswer(loaded, display, (drawn) => show(start, drawn))}
        </Card>
      )}
    </>
  );
}

/** Puts a name in the place of the selection. @returns the text. */
function writeAtCaret(editor: HTMLTextAreaElement, name: string): string {
  editor.setRangeText(name, editor.selectionStart, editor.selectionEnd, "end");
  editor.focus();
  return editor.value;
}

function renderAnswer(loaded: Loaded<RowsReply | null>, display: string, choose: (display: string) => void) {
  const reply = loaded.value;
  if (loaded.loading && !reply) return <Loading />;
  if (!reply || loaded.error) return null;
  const { results, columns, hasMore, limit } = reply;
  const types = reply.types.map(([, type]) => type);
  const mayDraw = toChartRows(columns, types, results as unknown[][]) !== undefined;
  return (
    <div aria-busy={loaded.loading}>
      <div class="tabs" role="group" aria-label="Shown as">
        {displays.map(([name, title]) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === display}
            disabled={!mayDraw && name !== "ActionsTable" && name !== display}
            onClick={() => choose(name)}
          >
            {title}
          </button>
        ))}
        <span class="quiet">
          {results.length === 1 ? "1 row" : `${results.length} rows`}
          {hasMore && `, and there are more: the limit is ${limit}`}
        </span>
      </div>
      <ResultView
        {...readResults(reply)}
        columns={columns}
        types={types}
        drawing={{ display }}
        empty="No rows."
      />
    </div>
  );
}
