// The tables that a query may read, with their columns: a click writes a name at the caret of the editor.

import { useAnswer } from "../session/use_loaded.ts";
import { WhenLoaded } from "../ui/parts.tsx";
import { quoteName } from "./completion.ts";

interface SchemaReply {
  tables: Record<string, { name: string; fields: Record<string, SchemaField> }>;
}

interface SchemaField {
  name: string;
  type: string;
  /** The table that a join leads to. */
  table?: string;
}

export function Schema({ insert }: { insert: (name: string) => void }) {
  const loaded = useAnswer<SchemaReply>({ kind: "DatabaseSchemaQuery" });
  return (
    <nav class="schema" aria-label="Tables and columns">
      <div>
        <WhenLoaded loaded={loaded}>
          {({ tables }) => (
            <>
              {Object.values(tables).map(({ name: table, fields }) => (
                <details key={table}>
                  <summary>{table}</summary>
                  <ul>
                    {renderName(table, "table", () => insert(table))}
                    {Object.values(fields).map(({ name, type, table: joined }) =>
                      joined
                        ? renderName(`${name}.…`, `of ${joined}`, () => insert(`${quoteName(name)}.`))
                        : renderName(name, type, () => insert(name)),
                    )}
                  </ul>
                </details>
              ))}
            </>
          )}
        </WhenLoaded>
      </div>
    </nav>
  );
}

function renderName(name: string, kind: string, act: () => void) {
  return (
    <li key={`${kind} ${name}`}>
      <button type="button" onClick={act}>
        <span>{name}</span> <small>{kind}</small>
      </button>
    </li>
  );
}
