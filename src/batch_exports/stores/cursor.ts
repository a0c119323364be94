// Cursors of pages without a count: the position of the row before the page, as in a page's links.

import { Fault } from "../../core/fault.ts";
import { isUuid } from "../../core/id.ts";
import type { Postgres, PostgresFragment } from "../../storage/postgres/postgres.ts";

/** The row after which the page begins; before which it ends when `backwards`. */
export interface Cursor {
  /** A moment in Postgres' spelling. */
  key: string;
  id: string;
  backwards: boolean;
}

/** A row and its position in the order, exactly as in Postgres. */
export interface Ordered<Row> {
  row: Row;
  order_key: string;
}

const momentShape = /^(-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d(:\d\d)?(:\d\d)?)$/;

/** @throws Fault not_found for a cursor that this server did not make. */
export function readCursor(query: URLSearchParams): Cursor | undefined {
  const text = query.get("cursor");
  if (text === null) return undefined;
  const [way, key = "", id = ""] = Buffer.from(text.slice(0, 300), "base64url").toString("latin1").split("|");
  if ((way === "n" || way === "p") && momentShape.test(key) && isUuid(id)) {
    return { key, id, backwards: way === "p" };
  }
  throw new Fault("not_found", "Invalid cursor");
}

/** The rows beyond a cursor, and their order; those before it are read in reverse. */
export function fromCursor(
  sql: Postgres,
  [key, id]: [PostgresFragment, PostgresFragment],
  descending: boolean,
  cursor: Cursor | undefined,
): { beyond: PostgresFragment; order: PostgresFragment } {
  const falling = descending !== (cursor?.backwards ?? false);
  const sign = falling ? sql`<` : sql`>`;
  const way = falling ? sql`DESC` : sql`ASC`;
  const beyond = cursor
    ? sql`(${key}, ${id}) ${sign} (${cursor.key}::text::timestamptz, ${cursor.id}::uuid)`
    : sql`true`;
  return { beyond, order: sql`${key} ${way}, ${id} ${way}` };
}

/** @param rows up to one more than `limit`, read from the cursor on; in reverse order when it points backwards. */
export function cursorPage<Row extends { id: string }>(
  url: URL,
  rows: readonly Ordered<Row>[],
  limit: number,
  cursor: Cursor | undefined,
) {
  const more = rows.length > limit;
  const shown = rows.slice(0, limit);
  const backwards = cursor?.backwards ?? false;
  if (backwards) shown.reverse();
  const last = shown.at(-1);
  const first = shown[0];
  const hasNext = backwards || more;
  const hasPrevious = backwards ? more : cursor !== undefined;
  return {
    next: hasNext && last ? linkTo(url, "n", last) : null,
    previous: hasPrevious && first ? linkTo(url, "p", first) : null,
    results: shown.map(({ row }) => row),
  };
}

function linkTo(url: URL, way: "n" | "p", { row, order_key }: Ordered<{ id: string }>): string {
  const link = new URL(url);
  link.searchParams.set(
    "cursor",
    Buffer.from(`${way}|${order_key}|${row.id}`, "latin1").toString("base64url"),
  );
  link.searchParams.sort();
  return link.href;
}
