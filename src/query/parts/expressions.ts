// Lists in expressions of SQL: one SELECT is made of the trees of its parts, and runs as any other.

import { clickhouseTime } from "../../core/dates.ts";
import { limits } from "../../core/limits.ts";
import type { Page } from "../../http/pages/page.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { mapInSlices } from "../../work/slices.ts";
import { spanBetween } from "../date_range.ts";
import type { SqlFilters } from "../sql/compile/compile.ts";
import { isAggregated } from "../sql/compile/lists/aggregates.ts";
import type { Trees } from "../sql/parser/parser.ts";
import type { TextKind } from "../sql/parser/parser_child.ts";
import { parseFilterTrees, parseText, runTree, sqlFault, type TextReader } from "../sql/run.ts";
import type { ExpressionNode, OrderExpr, SelectQuery } from "../sql/tree.ts";
import type { QueryAnswer, QueryContext } from "../store.ts";
import { defineBehind } from "./behind_store.ts";
import { refuseLong } from "./compiled_expressions.ts";
import type { PersonStatement } from "./figure.ts";
import type { MadeColumn } from "./made_columns.ts";
import type { TimedListFields } from "./model.ts";

export interface ExpressionList {
  /** Names the query in faults. */
  attr: string;
  table: string;
  made: Readonly<Record<string, MadeColumn>>;
  select: readonly string[];
  /** Further conditions. */
  where?: readonly string[] | null | undefined;
  /** The conditions of fields, each where `values` has its value. */
  compared?: Readonly<Record<string, string>>;
  /** Values of the names in braces. */
  values?: Readonly<Record<string, unknown>>;
  orderBy?: readonly string[] | null | undefined;
  /** Columns that together identify a row: they order rows without an order, and rows of equal rank. */
  usualOrder: readonly string[];
  /** Whether a column with an alias is called by it. */
  isAliased?: boolean;
  /** Whether rows without an order have that of the first column instead. */
  isByFirst?: boolean;
  filters: SqlFilters;
  /** The statement of persons behind a number, where the table is theirs. */
  behind?: PersonStatement;
}

/** The fields of a list that are expressions. */
type ListFields = Partial<Record<"select" | "where" | "orderBy", readonly string[] | null>>;

/** Reads a list without running it. @throws Fault for what is no expression, named by its field. */
export async function readExpressions(
  reader: TextReader,
  { attr, query, filters }: { attr: string; query: ListFields; filters: readonly PropertyFilter[] },
): Promise<void> {
  for (const [field, kind] of [
    ["select", "expression"],
    ["where", "expression"],
    ["orderBy", "order"],
  ] as const) {
    for (const [i, text] of (query[field] ?? []).entries())
      if (readName(text) !== "*") await parseText(reader, text, kind, `${attr}__${field}__${i}`);
  }
  await parseFilterTrees(reader, filters);
}

/** Reads the texts of a query's fields. @throws Fault named by the field. */
type Reader = <Kind extends TextKind>(text: string, kind: Kind, field: string) => Promise<Trees[Kind]>;

/**
 * With an aggregate among the columns the others group the rows, conditions with aggregates are of these groups, and
 * without an order the largest come first. No two rows have equal rank, so that each is on one page.
 * @throws Fault for what is wrong in an expression, named by its field.
 */
export async function expressionRows(
  context: QueryContext,
  list: ExpressionList,
  page: { [Name in keyof Page]?: number | null | undefined },
): Promise<QueryAnswer<unknown[]>> {
  const { attr, values = {}, filters } = list;
  const fields = Object.entries(list.compared ?? {}).filter(([name]) => (values[name] ?? null) !== null);
  const conditions = [
    ...fields.map(([name, text]) => [text, name] as const),
    ...(list.where ?? []).map((text, i) => [text, `where__${i}`] as const),
  ];
  const texts = [...list.select, ...conditions.map(([text]) => text), ...(list.orderBy ?? [])];
  refuseLong(texts, "list", attr);
  const read: Reader = (text, kind, field) => parseText(context, text, kind, `${attr}__${field}`);
  const { select, columns } = await columnsRead(list, read);
  const aggregates = select.filter(isAggregated).map(unnamed);
  const groups = select.filter((item) => !isAggregated(item)).map(unnamed);
  const all: ExpressionNode[] = [];
  for (const [text, field] of [["{filters}", "properties"] as const, ...conditions])
    all.push(await read(text, "expression", field));
  const where = all.filter((item) => !isAggregated(item));
  const having = all.filter((item) => isAggregated(item));
  const tree: SelectQuery = {
    node: "SelectQuery",
    select,
    select_from: { node: "JoinExpr", table: { node: "Field", chain: [list.table] } },
    where: { node: "And", exprs: where },
    ...(aggregates.length > 0 && { group_by: groups }),
    ...(having.length > 0 && { having: { node: "And", exprs: having } as const }),
    order_by: await orderRead(list, aggregates[0], groups, read),
    limit: { node: "Constant", value: page.limit ?? limits.pageDefault },
    offset: { node: "Constant", value: page.offset ?? 0 },
  };
  const behind = list.behind && defineBehind(list.behind);
  const source = { text: "", values, filters };
  const run = runTree(context, tree, source, behind && { further: behind });
  const { rows, types, ...table } = await run.catch((thrown: unknown) => {
    throw sqlFault(thrown, attr);
  });
  const results = await mapInSlices(
    rows,
    (row) => columns.map(({ at, count, cell }) => (cell ? cell(...row.slice(at, at + count)) : row[at])),
    (row) => row.reduce<number>((sum, item) => sum + (typeof item === "string" ? item.length : 0), 0),
  );
  const columnTypes = columns.map(({ at, cell }) => (cell ? "Tuple" : types[at]!));
  const columnNames = columns.map(({ name, alias }) => (list.isAliased && alias) || name);
  return { results, table: { ...table, columns: columnNames, types: columnTypes } };
}

/** A list of rows within the span of a query. @throws as expressionRows. */
export async function timedRows(
  context: QueryContext,
  checked: { attr: string; query: TimedListFields; filters: readonly PropertyFilter[] },
  list: Omit<ExpressionList, "attr" | "select" | "filters">,
): Promise<QueryAnswer<unknown[]>> {
  const { query, attr, filters: properties } = checked;
  const { select, where, orderBy } = query;
  const span = spanBetween(context, query, attr);
  const filters = { from: clickhouseTime(span.from), to: clickhouseTime(span.to), properties };
  return {
    span,
    ...(await expressionRows(
      context,
      { ...list, isAliased: true, attr, select, where, orderBy, filters },
      query,
    )),
  };
}

/** PostHog's pages name columns with a comment after them: `person_display_name -- Person`. */
const readName = (text: string): string => text.split("--", 1)[0]!.trim();

/** A column by its text: it reads `count` of the expressions that are selected, from `at` on. */
interface ReadColumn {
  name: string;
  alias: string | undefined;
  at: number;
  count: number;
  cell: MadeColumn["cell"] | undefined;
}

/** Removes the alias of an expression, which only the list of columns may define. */
const unnamed = (item: ExpressionNode): ExpressionNode => (item.node === "Alias" ? item.expr : item);

/** The expressions that are selected, and those of each column. */
async function columnsRead({ select: names, made }: ExpressionList, read: Reader) {
  const select: ExpressionNode[] = [];
  const columns: ReadColumn[] = [];
  for (const [i, name] of names.entries()) {
    const columnName = readName(name);
    const column = Object.hasOwn(made, columnName) ? made[columnName] : undefined;
    const reads = column?.reads ?? [name];
    const at = select.length;
    for (const text of reads) select.push(await read(text, "expression", `select__${i}`));
    const [item] = select.slice(at);
    const alias = !column && item?.node === "Alias" ? item.alias : undefined;
    columns.push({ name, alias, at, count: reads.length, cell: column?.cell });
  }
  return { select, columns };
}

/** The order of rows; that of groups ends with the grouped columns. */
async function orderRead(
  { orderBy, usualOrder, made, isByFirst }: ExpressionList,
  aggregate: ExpressionNode | undefined,
  groups: readonly ExpressionNode[],
  read: Reader,
): Promise<OrderExpr[]> {
  const order: OrderExpr[] = [];
  for (const [i, text] of (orderBy ?? []).entries()) {
    const [name = ""] = readName(text).split(" ", 1);
    const [key] = Object.hasOwn(made, name) ? made[name]!.reads : [];
    const way = /\bdesc$/i.test(text.trimEnd()) ? " DESC" : "";
    order.push(await read(key ? `${key}${way}` : text, "order", `orderBy__${i}`));
  }
  const by = (expr: ExpressionNode, way: OrderExpr["order"]) =>
    ({ node: "OrderExpr", expr, order: way }) as const;
  if (aggregate) {
    if (order.length === 0) order.push(by(aggregate, "DESC"));
    return [...order, ...groups.map((expr) => by(expr, "ASC"))];
  }
  const [first] = isByFirst && order.length === 0 ? groups : [];
  if (first) order.push(by(first, "ASC"));
  const way = order.at(-1)?.order ?? (order.length > 0 ? "ASC" : "DESC");
  for (const name of usualOrder) order.push(by(await read(name, "expression", "orderBy"), way));
  return order;
}
