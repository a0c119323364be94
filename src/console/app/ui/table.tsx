// Tables, facts, lists that are read a page at a time, and bars of values.

import { type ComponentChildren, Fragment } from "preact";
import { numberText } from "./format.ts";
import { Button, Cut, FigureLink } from "./parts.tsx";

interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  kind: string;
}

type MakeColumn<Row> = (name: string, cell: Column<Row>["cell"], kind?: string) => Column<Row>;

/** Makes the columns of a table: of texts, of numbers, and of what is never broken into lines, like times. */
export type Columns<Row> = Record<"column" | "numberColumn" | "fixedColumn", MakeColumn<Row>>;

function makeColumns<Row>(): Columns<Row> {
  const make =
    (usual: string): MakeColumn<Row> =>
    (name, cell, kind = usual) => ({ name, cell, kind });
  return { column: make(""), numberColumn: make("number"), fixedColumn: make("fixed") };
}

export interface TableProps<Row> {
  caption: string;
  columns: (make: Columns<Row>) => readonly Column<Row>[];
  rows: readonly Row[];
  /** Identifies a row: its `id` by default, or its place. */
  id?: (row: Row) => string | number | undefined;
  /** Shown when there are no rows. */
  empty?: string;
  /** The last row, which is always shown. */
  foot?: Row | undefined;
}

/** Rows shown of one table: more would slow the page down; the file has them all. */
const rowsShownMax = 500;

export function Table<Row>({
  caption,
  columns: listColumns,
  rows,
  id = (row) => (row as { id?: string | number }).id,
  empty = "Nothing yet.",
  foot,
}: TableProps<Row>) {
  const visible = [...rows.slice(0, rowsShownMax), ...(foot === undefined ? [] : [foot])];
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  const columns = listColumns(makeColumns<Row>());
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, kind }) => (
              <th key={name} scope="col" class={kind === "number" ? kind : ""}>
                <Cut text={name} lettersMax={90} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {visible.map((row, i) => (
            <tr key={id(row) ?? i}>
              {columns.map(({ name, cell, kind }) => (
                <td key={name} class={kind}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > rowsShownMax && (
        <p class="quiet">
          The first {rowsShownMax} of {numberText(rows.length)} rows; the file has all of them.
        </p>
      )}
    </div>
  );
}

/** Names with their values, those without one left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  const known = of.filter(([, value]) => value !== undefined);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export interface PagerProps {
  offset: number;
  limit: number;
  count: number;
  set: (offset: number) => void;
}

export function Pager({ offset, limit, count, set }: PagerProps) {
  if (count <= limit) return null;
  const last = Math.min(offset + limit, count);
  return (
    // Not `disabled`: the button would lose the focus.
    <nav class="pager" aria-label="Pages">
      <Button aria-disabled={offset === 0} onClick={() => offset > 0 && set(Math.max(0, offset - limit))}>
        Previous
      </Button>
      <span>
        {offset + 1} – {last} of {count}
      </span>
      <Button aria-disabled={last >= count} onClick={() => last < count && set(offset + limit)}>
        Next
      </Button>
    </nav>
  );
}

export interface Bar {
  label: ComponentChildren;
  value: number;
  text: string;
  colour?: string;
  href?: string | undefined;
}

export function Bars({ caption, bars }: { caption: string; bars: readonly Bar[] }) {
  const most = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <ul class="side-bars" aria-label={caption}>
      {bars.map(({ label, value, text, colour, href }, i) => (
        <li key={i}>
          <div
            class="side-bar"
            style={{
              width: `${most > 0 ? Math.max(0, value / most) * 100 : 0}%`,
              ...(colour && { background: `${colour}33` }),
            }}
          />
          <span class="cut" {...(typeof label === "string" && { title: label })}>
            {label}
          </span>
          <b>
            <FigureLink href={href}>{text}</FigureLink>
          </b>
        </li>
      ))}
    </ul>
  );
}
