// A page that lists things in a table. The form that creates another stands below.

import { type ComponentChildren } from "preact";
import type { ListReply } from "../session/api.ts";
import type { Loaded } from "../session/use_loaded.ts";
import { Card, PageHead, Shown } from "./parts.tsx";
import { type Column, Pager, Table } from "./table.tsx";

interface ListPageProps<Row> {
  title: string;
  asked: Loaded<ListReply<Row>>;
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
  const { title, asked, columns, id, empty, actions, search, page, children } = props;
  return (
    <>
      <PageHead title={title}>{actions}</PageHead>
      <Card>
        {search}
        <Shown asked={asked}>
          {({ results, count }) => (
            <>
              <Table caption={title} rows={results} id={id} empty={empty} columns={columns} />
              {page && <Pager {...page} count={count} />}
            </>
          )}
        </Shown>
      </Card>
      {/* What stands below comes with the list, which would move it. */}
      {(asked.value !== undefined || !asked.loading) && children}
    </>
  );
}
