// Tiles of a dashboard: the result of one, loaded by itself, with the last result until the next is there; and its
// texts, shown as they were written: HTML in them is text.

import { useState } from "preact/hooks";
import type { RowsReply } from "../explore/results.ts";
import { InsightResult, type InsightRow } from "../insights/insight_row.tsx";
import type { Api } from "../session/api.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useRead } from "../session/use_loaded.ts";
import { ConfirmButton, Field, Form } from "../ui/forms.tsx";
import { Button, LoadError, Loading, Outcome } from "../ui/parts.tsx";
import { unwrapQuery } from "../values.ts";
import { type Scope, scopedQuery } from "./scope.ts";

interface TileProps {
  insight: InsightRow;
  scope: Scope;
  height: number;
  /** Another value when the dashboard was reloaded: so is the result. */
  reloaded: unknown;
}

/** Results that are shown again with their dashboard, until they are computed anew. */
const lastResults = new Map<string, InsightRow>();
const lastResultsMax = 100;

export function TileResult({ insight, scope, height, reloaded }: TileProps) {
  const { home } = useSession();
  const seesResults = useAllowed("insight:read");
  const mayQuery = useAllowed("query:read");
  const { query, without } = scopedQuery(insight.query, scope);
  const name = JSON.stringify([home, insight.id, query ?? insight.query]);
  const loaded = useRead(
    async (api, signal) => {
      const answered =
        query === undefined
          ? await api.get<InsightRow>(`insights/${insight.id}/`, {}, signal)
          : { ...insight, ...(await requestTile(api, query, signal)) };
      retainResult(name, answered);
      return { name, row: answered };
    },
    [name, reloaded],
  );
  const requestTile = async (api: Api, body: object, signal: AbortSignal) => {
    const { results: result, result_type, ...rows } = await api.ask<Partial<RowsReply>>(body, signal);
    const [columns, types] = [rows.columns ?? null, rows.types?.map(([, type]) => type) ?? null];
    return {
      // The nodes around the query decide how it is drawn.
      query:
        unwrapQuery(insight.query) === insight.query ? body : { ...(insight.query as object), source: body },
      result,
      result_type: result_type ?? null,
      columns,
      types,
    };
  };
  if (!seesResults) return null;
  if (query !== undefined && !mayQuery)
    return <p class="notice">A range or filters require a key with the scope query:read.</p>;
  const row = loaded.value?.name === name ? loaded.value.row : lastResults.get(name);
  // The height of a picture with its number and its legend: what is below does not move when it appears.
  return (
    <div style={{ minHeight: height + aroundPicture }}>
      <LoadError loaded={loaded} />
      {without !== "" && <p class="quiet">Shown without {without} of this page.</p>}
      {row ? (
        <div aria-busy={loaded.loading}>
          <InsightResult insight={row} small height={height} />
        </div>
      ) : (
        loaded.loading && <Loading />
      )}
    </div>
  );
}

/** Pixels of a number with its name and change, a legend, and the closed table. */
const aroundPicture = 160;

function retainResult(name: string, row: InsightRow): void {
  lastResults.delete(name);
  lastResults.set(name, row);
  const [oldest] = lastResults.keys();
  if (lastResults.size > lastResultsMax) lastResults.delete(oldest!);
}

export interface TileText {
  body: string;
}

/** The beginning of the text's first line, without the signs of a heading. */
export function textName({ body }: TileText): string {
  const words = body
    .split("\n", 1)[0]!
    .split(" ")
    .filter((word) => word !== "" && !"######".startsWith(word));
  return words.join(" ").slice(0, 80) || "Text";
}

interface TextFormProps {
  /** The dashboard's. */
  path: string;
  /** Undefined for a new text. */
  id?: number;
  body: string;
  changed: () => void;
}

export function TextForm({ path, id, body: before, changed }: TextFormProps) {
  const [body, setBody] = useState(before);
  const action = useAction();
  const send = (tile: object, done: string) =>
    action.send("PATCH", path, { tiles: [{ ...(id !== undefined && { id }), ...tile }] }, done, () => {
      if (id === undefined) setBody("");
      changed();
    });
  return (
    <>
      <Form send={() => send({ text: { body } }, "Saved.")}>
        <Field label="Text">
          {(field) => (
            <textarea
              id={field}
              value={body}
              required
              maxLength={4000}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
          )}
        </Field>
        <Button type="submit" disabled={action.running}>
          {id === undefined ? "Add text" : "Save text"}
        </Button>
        {id !== undefined && (
          <ConfirmButton
            label="Remove"
            sure="Remove this text?"
            act={() => send({ deleted: true }, "Removed.")}
          />
        )}
      </Form>
      <Outcome action={action} />
    </>
  );
}
