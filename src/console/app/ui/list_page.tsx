// A page that lists things in a table. The form that creates another is below.

import { type ComponentChildren } from "preact";
import type { ListReply } from "../session/api.ts";
import type { Loaded } from "../session/use_loaded.ts";
import { Card, PageHead, WhenLoaded } from "./parts.tsx";
import { type Column, Pager, Table } from "./table.tsx";

interface ListPageProps<Row> {
  title: string;
  loaded: Loaded<ListReply<Row>>;
  columns: readonly Column<Row>[];
  id: (row: Row) => string | number;
  /** Shown when there are no rows. */
  empty: string;
  /** Beside the heading. */
  actions?: ComponentChildren;
  /** Above the table: a form that filters it. */
  search?: ComponentChildren;
  /** For a list that is read a page at a time. */
  page?: { offset: number; limit: number; set: (offset: number) => void };
  children?: ComponentChildren;
}

export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, loaded, columns, id, empty, actions, search, page, children } = props;
  return (
    <>
      <PageHead title={title}>{actions}</PageHead>
      <Card>
        {search}
        <WhenLoaded loaded={loaded}>
          {({ results, count }) => (
            <>
              <Table caption={title} rows={results} id={id} empty={empty} columns={columns} />
              {page && <Pager {...page} count={count} />}
            </>
          )}
        </WhenLoaded>
      </Card>
      {/* What is below appears with the list, which would move it. */}
      {(loaded.value !== undefined || !loaded.loading) && children}
    </>
  );
}
