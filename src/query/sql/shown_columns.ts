// Which columns of a query in SQL a link may show: figures of listed aggregates, and keys of groups that are rounded
// moments or properties confirmed by name. What is not listed is hidden, and so is all that is computed from it.

import { wordsIn } from "../../core/words.ts";
import { isAggregated } from "./compile/lists/aggregates.ts";
import { sqlTables } from "./compile/lists/tables.ts";
import { SqlProblem } from "./compile/value.ts";
import * as lists from "./shown_lists.ts";
import type { AnySelect, CallNode, CommonTable, ExpressionNode, SelectQuery, SelectTree } from "./tree.ts";

/** What a value is made of, each more than those before it. */
const kinds = ["constant", "figure", "moment", "property", "measure", "time"] as const;
type Kind = (typeof kinds)[number];

/** A kind, or why the value is hidden. */
type Shown = Kind | SqlProblem;

export interface ShownColumns {
  /** Their aliases, and names of fields; no text of the query. Undefined where there is neither. */
  names: (string | undefined)[];
  /** Whether each is a figure, whose type must be a number's. */
  areFigures: boolean[];
  /** Properties that are named, such as "properties.plan". */
  properties: ReadonlySet<string>;
}

/**
 * @param confirmed the properties that may be shown; all that are not called like an id where it is undefined.
 * @throws SqlProblem with the reason for which the query is not shown.
 */
export function readShownColumns(tree: SelectTree, confirmed?: ReadonlySet<string>): ShownColumns {
  if (tree.node === "Placeholder") throw new SqlProblem("A link shows a SELECT.", tree);
  const reader = new Reader(confirmed);
  const { columns, rows } = reader.select(tree, new Map());
  const hidden = rows ?? columns.map(findHidden).find(Boolean);
  if (hidden) throw hidden;
  return {
    names: columns.map(({ name }) => name),
    areFigures: columns.map(({ shown }) => shown === "figure"),
    properties: reader.properties,
  };
}

/** Kinds that are no column of a link. */
const unshown: Partial<Record<Kind, string>> = {
  constant: "A link shows figures and keys of groups, no texts of the query.",
  measure: "A link shows a measure of rows within an aggregate only, such as avg().",
  time: "A link shows a moment rounded, as by toStartOfHour() or toDate().",
};

interface Column {
  name: string | undefined;
  shown: Shown;
  node: ExpressionNode;
}

interface Rows {
  columns: Column[];
  /** Why its rows are not groups of keys that may be shown. */
  rows: SqlProblem | undefined;
}

type CommonTables = ReadonlyMap<string, { node: CommonTable; tables: CommonTables }>;

interface Source extends Pick<Rows, "rows"> {
  /** The table's name, and the value of a path below it; undefined where it has no such column. */
  table?: string | undefined;
  column(path: readonly string[], node: ExpressionNode): Shown | undefined;
}

interface Scope extends Source {
  tables: CommonTables;
  aliases: Map<string, Shown>;
}

const isSelect = (node: ExpressionNode | { node: string }): node is AnySelect =>
  node.node === "SelectQuery" || node.node === "SelectSetQuery";

/** Values that are followed: a WITH may name another twice, and so on. */
const stepsMax = 20_000;

class Reader {
  readonly properties = new Set<string>();
  readonly #confirmed: ReadonlySet<string> | undefined;
  #steps = 0;

  constructor(confirmed: ReadonlySet<string> | undefined) {
    this.#confirmed = confirmed;
  }

  select(node: AnySelect, outer: CommonTables): Rows {
    if (node.node === "SelectSetQuery") throw new SqlProblem("A link shows one SELECT, without UNION.", node);
    refuseUnfollowed(node);
    const tables = withCommonTables(node, outer);
    const scope: Scope = { ...this.#from(node, tables), tables, aliases: new Map() };
    const columns = node.select.map((item): Column => {
      const inner = item.node === "Alias" ? item.expr : item;
      const shown = this.#value(inner, scope);
      if (item.node === "Alias") scope.aliases.set(item.alias, shown);
      return { name: item.node === "Alias" ? item.alias : readNames(inner)?.at(-1), shown, node: inner };
    });
    const groups = node.group_by?.length ? node.group_by : undefined;
    const isGrouped = groups !== undefined || node.distinct || node.group_by_mode === "all";
    if (!isGrouped)
      return { columns, rows: isAggregated([node.select, node.having]) ? undefined : scope.rows };
    const keys = groups?.map((item) => {
      const column = item.node === "Constant" ? columns[Number(item.value) - 1] : undefined;
      return column ?? { shown: this.#value(item, scope), node: item };
    });
    return { columns, rows: (keys ?? columns).map(findHidden).find(Boolean) };
  }

  #from({ select_from: from }: SelectQuery, tables: CommonTables): Source {
    if (!from) return { column: () => undefined, rows: undefined };
    const { table, alias } = from;
    if (from.next_join || from.table_args || !table)
      throw new SqlProblem("A link shows a query of one table, without a JOIN.", from);
    const name = table.node === "Field" ? table.chain.join(".") : "";
    const common = tables.get(name);
    const inner = common?.node.expr ?? table;
    if (isSelect(inner)) {
      const { columns, rows } = this.select(inner, common?.tables ?? tables);
      const column = ([name, ...rest]: readonly string[], node: ExpressionNode) => {
        const found = columns.find((item) => item.name === name);
        if (found) return rest.length > 0 ? hide(node) : found.shown;
        // The engine may know one without an alias by its text.
        return columns.every((item) => item.name !== undefined) ? undefined : hide(node);
      };
      return { table: alias ?? common?.node.name, column, rows };
    }
    if (common || (name !== "events" && name !== "sessions"))
      throw new SqlProblem("A link shows queries of the tables events and sessions.", table);
    const rows = new SqlProblem("A link shows no list of events or sessions: group them, or count.", from);
    const { columns, joins = {} } = sqlTables[name]!;
    const column: Scope["column"] = (path, node) =>
      Object.hasOwn(columns, path[0]!) || Object.hasOwn(joins, path[0]!)
        ? this.#column(name, path, node)
        : undefined;
    return { table: alias ?? name, column, rows };
  }

  #column(table: string, [first = "", ...rest]: readonly string[], node: ExpressionNode): Shown {
    if (table === "events" && first === "session") return this.#column("sessions", rest, node);
    if (rest.length > 0 && (table !== "events" || first !== "properties")) return hide(node);
    if (first === "properties" && rest.length > 0) return this.#property(["properties", ...rest], node);
    if (lists.times.has(first)) return "time";
    if (table === "events") return first === "event" ? this.#property(["event"], node) : hide(node);
    if (lists.sessionMeasures.has(first)) return "measure";
    return lists.sessionTexts.has(first) ? this.#property(["session", first], node) : hide(node);
  }

  #property(path: readonly string[], node: ExpressionNode): Shown {
    const name = path.join(".");
    if (lists.isCalledLikeId(path.slice(1)))
      return new SqlProblem(`"${name}" is called like an id or an address, which no link shows.`, node);
    this.properties.add(name);
    if (!this.#confirmed || this.#confirmed.has(name)) return "property";
    return new SqlProblem(`"${name}" was not confirmed for this link.`, node);
  }

  #value(node: ExpressionNode, scope: Scope): Shown {
    if (this.#steps++ > stepsMax) throw new SqlProblem("This query is too long for a link.", node);
    const inner = (item: ExpressionNode): Shown => this.#value(item, scope);
    switch (node.node) {
      case "Constant":
        return typeof node.value === "number" || node.value_type === "number" ? "figure" : "constant";
      case "Field":
      case "ArrayAccess": {
        const path = readNames(node);
        return path ? this.#field(path, node, scope) : hide(node);
      }
      case "ArithmeticOperation": {
        const sides = [node.left, node.right];
        const moment = sides.find((item) => !isInterval(item));
        if (sides.some(isInterval)) return moment ? inner(moment) : hide(node);
        return widest(sides.map(inner));
      }
      case "CompareOperation": {
        const { right } = node;
        const others = right.node === "Tuple" || right.node === "Array" ? right.exprs : [right];
        return widest([node.left, ...others].map(inner));
      }
      case "And":
      case "Or":
        return widest(node.exprs.map(inner));
      case "Not":
        return inner(node.expr);
      case "Call":
        return this.#call(node, scope);
      default:
        return hide(node);
    }
  }

  #field([first = "", ...rest]: readonly string[], node: ExpressionNode, scope: Scope): Shown {
    if (rest.length > 0 && first === scope.table) return scope.column(rest, node) ?? hide(node);
    const alias = scope.aliases.get(first);
    if (alias) return rest.length > 0 ? hide(node) : alias;
    const column = scope.column([first, ...rest], node);
    if (column) return column;
    const common = scope.tables.get(first);
    if (common?.node.cte_type !== "column" || rest.length > 0) return hide(node);
    return this.#value(common.node.expr, { ...scope, tables: common.tables });
  }

  #call(node: CallNode, scope: Scope): Shown {
    const name = node.name.toLowerCase();
    const base = name.replace(/if$/, "");
    const { args } = node;
    if (lists.counts.has(name) || lists.counts.has(base)) return "figure";
    const shown = (items: readonly ExpressionNode[]) => widest(items.map((item) => this.#value(item, scope)));
    if (lists.figures.has(name) || lists.figures.has(base)) {
      const value = args[0] ? this.#value(args[0], scope) : hide(node);
      if (value instanceof SqlProblem || node.params?.some((item) => item.node !== "Constant"))
        return value instanceof SqlProblem ? value : hide(node);
      const isMoment = value === "time" || value === "moment";
      if (!isMoment) return "figure";
      return base === "min" || base === "max" ? "time" : hide(node);
    }
    const parts = args.filter((item) => item.node !== "Constant" && !isInterval(item));
    if (lists.moments.has(name)) {
      const [unit] = args;
      const isFine =
        lists.byUnit.has(name) && !(unit?.node === "Constant" && lists.coarseUnits.has(String(unit.value)));
      const value = shown(parts);
      if (parts.length !== 1 || isFine || (value === "time" && lists.ofRounded.has(name))) return hide(node);
      return value === "time" ? "moment" : value;
    }
    if (lists.nows.has(name)) return "moment";
    if (lists.distances.has(name)) return shown(parts) === "time" ? "measure" : shown(parts);
    if (lists.functions.has(name)) return shown(args);
    return new SqlProblem(`${node.name}() is not among the figures and functions that a link shows.`, node);
  }
}

/** The widest kind of a value that is computed from these; hidden if one of them is. */
function widest(all: readonly Shown[]): Shown {
  const hidden = all.find((shown) => shown instanceof SqlProblem);
  return hidden ?? kinds[Math.max(0, ...all.map((shown) => kinds.indexOf(shown as Kind)))]!;
}

function hide(node: ExpressionNode): SqlProblem {
  const path = readNames(node)?.join(".");
  if (path === undefined) return new SqlProblem("A link does not show what is computed so.", node);
  return new SqlProblem(`"${path}" is not shown by a link: it may stand for a person or a session.`, node);
}

function findHidden({ shown, node }: Omit<Column, "name">): SqlProblem | undefined {
  if (shown instanceof SqlProblem) return shown;
  const reason = unshown[shown];
  return reason === undefined ? undefined : new SqlProblem(reason, node);
}

function withCommonTables(node: SelectQuery, outer: CommonTables): CommonTables {
  const tables = new Map(outer);
  for (const item of node.ctes ?? []) tables.set(item.name, { node: item, tables: new Map(tables) });
  return tables;
}

/** `a.b`, `a['b']`; undefined for anything else, and a star. */
function readNames(node: ExpressionNode): readonly string[] | undefined {
  if (node.node === "Field") return node.chain.includes("*") ? undefined : node.chain;
  if (node.node !== "ArrayAccess" || node.property.node !== "Constant") return undefined;
  const before = readNames(node.array);
  return before && typeof node.property.value === "string" ? [...before, node.property.value] : undefined;
}

/** `INTERVAL 1 HOUR`, of a minute and more. */
function isInterval(node: ExpressionNode): boolean {
  return (
    node.node === "Call" &&
    lists.intervals.has(node.name.toLowerCase()) &&
    node.args.every(({ node: kind }) => kind === "Constant")
  );
}

const rowMakers: ReadonlySet<string> = new Set(wordsIn("arrayjoin untuple"));

/**
 * What gives a name or a row within an expression, and is not followed.
 * @throws SqlProblem
 */
function refuseUnfollowed(select: SelectQuery): void {
  if (select.array_join_list?.length) throw new SqlProblem("A link shows no ARRAY JOIN.", select);
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (typeof value !== "object" || value === null) return;
    const node = value as ExpressionNode;
    if (isSelect(node)) return;
    if (node.node === "Alias") throw new SqlProblem("For a link, a name stands behind a whole column.", node);
    if (node.node === "Call" && rowMakers.has(node.name.toLowerCase())) throw hide(node);
    Object.values(value).forEach(walk);
  };
  const { select: items, select_from: _, ...rest } = select;
  walk([...items.map((item) => (item.node === "Alias" ? item.expr : item)), rest]);
}
