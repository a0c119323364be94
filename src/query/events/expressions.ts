// A list of events in expressions of SQL: the tree of one SELECT over `events` is made of the trees of its parts, and
// runs as any other. PostHog's own names of columns that are no SQL are made of several expressions each.

import { sqlFault, runTree } from "../hogql/run.ts";
import { clickhouseTime, type DateSpan } from "../date_range.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import type { Page } from "../../http/pages/page.ts";
import { sqlAggregate } from "../sql/compile/lists/aggregates.ts";
import type { ExpressionNode, OrderExpr, SelectQuery } from "../sql/tree.ts";
import type { TextKind } from "../sql/parser/parser_child.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { jsonOf } from "./columns.ts";
import type { EventsQuery } from "./model.ts";

interface ExpressionScope {
  attr: string;
  query: EventsQuery;
  filters: readonly PropertyFilter[];
}

/** A column that is no SQL: what is read for it, and the cell that is made of that. */
interface MadeColumn {
  reads: readonly string[];
  cell: (...read: unknown[]) => unknown;
}

const names = ["email", "Email", "name", "Name", "username", "Username"];
const displayName = `coalesce(${names.map((name) => `nullIf(person.properties.${name}, '')`).join(", ")}, distinct_id)`;

const made: Readonly<Record<string, MadeColumn>> = {
  "*": {
    reads: ["uuid", "event", "properties", "timestamp", "distinct_id", "person_id"],
    cell: (uuid, event, properties, timestamp, distinct_id, person_id) => ({
      uuid,
      event,
      properties: parsed(properties),
      timestamp,
      distinct_id,
      person_id,
    }),
  },
  person: {
    reads: ["person_id", "person.created_at", "person.properties", "distinct_id"],
    cell: (uuid, created_at, properties, distinct_id) => ({
      uuid,
      created_at,
      properties: parsed(properties),
      distinct_id,
    }),
  },
  person_display_name: {
    reads: [displayName, "person_id", "distinct_id"],
    cell: (display_name, id, distinct_id) => ({ display_name, id, distinct_id }),
  },
};

const parsed = (value: unknown): unknown => (typeof value === "string" ? (jsonOf(value) ?? {}) : {});

/** Reads the texts of a query's fields. @throws Fault named by the field. */
type Reader = <Kind extends TextKind>(
  text: string,
  kind: Kind,
  field: string,
) => ReturnType<typeof parse<Kind>>;

function parse<Kind extends TextKind>({ parse: read, project_id }: QueryContext, text: string, kind: Kind) {
  return read(text, kind, project_id);
}

/**
 * With an aggregate among the columns the others group the rows, and without an order the largest come first.
 * @throws Fault for what is wrong in an expression, named by its field.
 */
export async function expressionRows(
  context: QueryContext,
  { query, attr, filters }: ExpressionScope,
  span: DateSpan,
  { limit, offset }: Page,
): Promise<QueryAnswer<unknown[]>> {
  const read: Reader = async (text, kind, field) => {
    try {
      return await parse(context, text, kind);
    } catch (thrown) {
      throw sqlFault(thrown, `${attr}__${field}`, text);
    }
  };
  const { select, columns } = await columnsRead(query, read);
  const aggregates = select.filter(isAggregated);
  const tree: SelectQuery = {
    node: "SelectQuery",
    select,
    select_from: { node: "JoinExpr", table: { node: "Field", chain: ["events"] } },
    where: { node: "And", exprs: await conditionsRead(query, read) },
    ...(aggregates.length > 0 && { group_by: select.filter((one) => !isAggregated(one)) }),
    order_by: await orderRead(query, aggregates[0] ?? { node: "Field", chain: ["timestamp"] }, read),
    limit: { node: "Constant", value: limit },
    offset: { node: "Constant", value: offset },
  };
  const { event, events, personId } = query;
  const [from, to] = [clickhouseTime(span.from), clickhouseTime(span.to)];
  const asked = { text: "", values: { event, events, personId }, filters: { from, to, properties: filters } };
  const { rows, types, ...table } = await runTree(context, tree, asked).catch((thrown: unknown) => {
    throw sqlFault(thrown, attr);
  });
  const results = rows.map((row) =>
    columns.map(({ at, count, cell }) => (cell ? cell(...row.slice(at, at + count)) : row[at])),
  );
  const shown = columns.map(({ at, cell }) => (cell ? "Tuple" : types[at]!));
  return { span, results, table: { ...table, columns: query.select, types: shown } };
}

/** What is selected, and which of it each column has: `count` from `at` on. */
async function columnsRead({ select: names }: EventsQuery, read: Reader) {
  const select: ExpressionNode[] = [];
  const columns: { at: number; count: number; cell: MadeColumn["cell"] | undefined }[] = [];
  for (const [i, name] of names.entries()) {
    // PostHog's pages name such columns with a comment behind: `person_display_name -- Person`.
    const own = name.split("--", 1)[0]!.trim();
    const column = Object.hasOwn(made, own) ? made[own] : undefined;
    const reads = column?.reads ?? [name];
    columns.push({ at: select.length, count: reads.length, cell: column?.cell });
    for (const text of reads) select.push(await read(text, "expression", `select__${i}`));
  }
  return { select, columns };
}

async function conditionsRead(
  { event, events, personId, where }: EventsQuery,
  read: Reader,
): Promise<ExpressionNode[]> {
  const conditions = [await read("{filters}", "expression", "properties")];
  if (event) conditions.push(await read("event = {event}", "expression", "event"));
  if (events?.length) conditions.push(await read("event in {events}", "expression", "events"));
  if (personId) conditions.push(await read("person_id = {personId}", "expression", "personId"));
  for (const [i, text] of (where ?? []).entries()) {
    conditions.push(await read(text, "expression", `where__${i}`));
  }
  return conditions;
}

async function orderRead(
  { orderBy }: EventsQuery,
  usual: ExpressionNode,
  read: Reader,
): Promise<OrderExpr[]> {
  const order: OrderExpr[] = [];
  for (const [i, text] of (orderBy ?? []).entries()) order.push(await read(text, "order", `orderBy__${i}`));
  return order.length > 0 ? order : [{ node: "OrderExpr", expr: usual, order: "DESC" }];
}

/** Whether an aggregate stands in it, but for those of its subqueries and windows. */
function isAggregated(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(isAggregated);
  if (typeof node !== "object" || node === null) return false;
  const { node: kind, name } = node as { node?: string; name?: string };
  if (kind === "SelectQuery" || kind === "SelectSetQuery" || kind === "WindowFunction") return false;
  if (kind === "Call" && name !== undefined && sqlAggregate(name)) return true;
  return Object.values(node).some((member) => typeof member === "object" && isAggregated(member));
}
