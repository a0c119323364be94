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

export type CursorPage = { limit: number; cursor: Cursor | undefined };

/** Up to one row more than a page, read from the cursor on, with their positions exactly as in Postgres. */
export type Ordered<Row> = (Row & { order_key: string })[];

const momentShape = /^(-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d(:\d\d)?(:\d\d)?)$/;

/** @throws Fault not_found for a cursor that this server did not make. */
export function readCursor(query: URLSearchParams): Cursor | undefined {
  const text = query.get("cursor");
  if (text === null) return undefined;
  const [way, key = "", id = ""] = Buffer.from(text.slice(0, 300), "base64url").toString("latin1").split("|");
  if ((way === "n" || way === "p") && momentShape.test(key) && isUuid(id))
    return { key, id, backwards: way === "p" };
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

/** @param rows in reverse order when the cursor points backwards. */
export function cursorPage<Row extends { id: string }>(url: URL, rows: Ordered<Row>, page: CursorPage) {
  const { limit, cursor } = page;
  const more = rows.length > limit;
  const pageRows = rows.slice(0, limit);
  const backwards = cursor?.backwards ?? false;
  if (backwards) pageRows.reverse();
  const last = pageRows.at(-1);
  const first = pageRows[0];
  const hasNext = backwards || more;
  const hasPrevious = backwards ? more : cursor !== undefined;
  return {
    next: hasNext && last ? linkTo(url, "n", last) : null,
    previous: hasPrevious && first ? linkTo(url, "p", first) : null,
    results: pageRows.map((row) => {
      const { order_key: _, ...result } = row;
      return result as unknown as Row;
    }),
  };
}

function linkTo(url: URL, way: "n" | "p", { order_key, id }: { order_key: string; id: string }): string {
  const link = new URL(url);
  const cursor = Buffer.from(`${way}|${order_key}|${id}`, "latin1").toString("base64url");
  link.searchParams.set("cursor", cursor);
  link.searchParams.sort();
  return link.href;
}
