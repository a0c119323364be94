// A page that lists things in a table. The form that creates another is below.

import { type ComponentChildren } from "preact";
import type { ListReply } from "../session/api.ts";
import type { Loaded } from "../session/use_loaded.ts";
import { Card, PageHead, WhenLoaded } from "./parts.tsx";
import { Pager, type PagerProps, Table, type TableProps } from "./table.tsx";

interface PagedProps<Row> {
  loaded: Loaded<ListReply<Row>>;
  /** The page that is shown, of a list that is read a page at a time. */
  page?: Omit<PagerProps, "count"> | undefined;
}

/** A list of the API, once it is there, and what leads to its other pages. */
export function Paged<Row>({
  loaded,
  page,
  children,
}: PagedProps<Row> & { children: (rows: Row[]) => ComponentChildren }) {
  return (
    <WhenLoaded loaded={loaded}>
      {({ results, count }) => (
        <>
          {children(results)}
          {page && <Pager {...page} count={count} />}
        </>
      )}
    </WhenLoaded>
  );
}

type LoadedTableProps<Row> = PagedProps<Row> & Omit<TableProps<Row>, "rows">;

export function LoadedTable<Row>({ loaded, page, ...table }: LoadedTableProps<Row>) {
  return (
    <Paged loaded={loaded} page={page}>
      {(rows) => <Table rows={rows} {...table} />}
    </Paged>
  );
}

interface ListPageProps<Row> extends Omit<LoadedTableProps<Row>, "caption"> {
  title: string;
  /** Shown beside the heading. */
  actions?: ComponentChildren;
  /** Above the table: a form that filters it. */
  search?: ComponentChildren;
  children?: ComponentChildren;
}

export function ListPage<Row>({ title, actions, search, children, ...table }: ListPageProps<Row>) {
  const { loaded } = table;
  return (
    <>
      <PageHead title={title}>{actions}</PageHead>
      <Card>
        {search}
        <LoadedTable caption={title} {...table} />
      </Card>
      {/* What is below appears with the list, which would move it. */}
      {(loaded.value !== undefined || !loaded.loading) && children}
    </>
  );
}
