// Which columns of a query in SQL a link may show: of one SELECT, figures of listed aggregates, and keys of groups that
// are rounded moments or properties confirmed by name. What is not listed is hidden, and so is all that reads it, in
// conditions as well, but for counts of it.

import { wordsIn } from "../../core/words.ts";
import { toFields } from "../result.ts";
import { isAggregated } from "./compile/lists/aggregates.ts";
import { SqlProblem } from "./compile/value.ts";
import * as lists from "./shown_lists.ts";
import type { AnySelect, CallNode, ExpressionNode, SelectQuery, SelectTree } from "./tree.ts";

/** Kinds of values, each of which shows more than those before it. */
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

/** Why a result with columns of these types is not shown; undefined where it is. */
export function findUnshown(
  shown: ShownColumns | null | undefined,
  types: readonly string[] = [],
): string | undefined {
  const isText = shown?.areFigures.some((isFigure, i) => isFigure && !isNumberType(types[i] ?? ""));
  return isText ? "A figure of this query is no number: a link does not show it." : undefined;
}

/** Why a result with these rows is not shown to a reader; undefined where it is. */
export function findUnshownKey(
  { areFigures }: Pick<ShownColumns, "areFigures">,
  rows: Iterable<unknown>,
): string | undefined {
  for (const row of rows)
    if (listKeys(row, areFigures).some((key) => jsonStart.test(key)))
      return "A key of this query is an object or a list: a link does not show it.";
  return undefined;
}

/** JSON, the step of a path before it. Names such as "[new] {wide}" are none. */
const jsonStart = /^(?:\d+_)?\s*(?:\{\s*"|\[\s*["[{])/;

/** The texts of a row but its figures, and those by which a series, a step or a link is broken down. */
function listKeys(row: unknown, areFigures: readonly boolean[] = []): string[] {
  if (typeof row === "string") return [row];
  if (Array.isArray(row)) return row.flatMap((cell, i) => (areFigures[i] ? [] : listKeys(cell)));
  const { breakdown_value, source, target } = toFields(row);
  return [breakdown_value, source, target].flatMap((key) => (key === undefined ? [] : listKeys(key)));
}

/** Numbers, and lists of them, as quantiles() returns. */
const isNumberType = (type: string): boolean =>
  /^(?:(?:Nullable|LowCardinality|Array)\()*(?:U?Int|Float|Decimal|Nothing)/.test(type);

/**
 * @param confirmed the properties that may be shown; all that are not called like an id where it is undefined.
 * @throws SqlProblem with the reason for which the query is not shown.
 */
export function readShownColumns(tree: SelectTree, confirmed?: ReadonlySet<string>): ShownColumns {
  if (tree.node === "Placeholder") throw new SqlProblem("A link shows a SELECT.", tree);
  const reader = new Reader(confirmed);
  const columns = reader.select(tree);
  const hidden = columns.map(findHidden).find(Boolean);
  if (hidden) throw hidden;
  return {
    names: columns.map(({ name }) => name),
    areFigures: columns.map(({ shown }) => shown === "figure"),
    properties: reader.properties,
  };
}

/**
 * The properties that an expression of events names, which another kind of query shows values or a figure of.
 * @throws SqlProblem with the reason for which it is not shown.
 */
export function readShownExpression(
  tree: ExpressionNode,
  confirmed?: ReadonlySet<string>,
): ReadonlySet<string> {
  const reader = new Reader(confirmed);
  reader.expression(tree);
  return reader.properties;
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

class Reader {
  readonly properties = new Set<string>();
  readonly #confirmed: ReadonlySet<string> | undefined;
  #table: "events" | "sessions" | undefined;
  /** How the query calls its table. */
  #tableName = "";
  readonly #aliases = new Map<string, Shown>();

  constructor(confirmed: ReadonlySet<string> | undefined) {
    this.#confirmed = confirmed;
  }

  /** @throws SqlProblem with the reason for which the query is not shown. */
  select(node: AnySelect): Column[] {
    if (node.node === "SelectSetQuery") throw new SqlProblem("A link shows one SELECT, without UNION.", node);
    refuseUnfollowed(node);
    this.#from(node.select_from);
    const columns = node.select.map((item): Column => {
      const inner = item.node === "Alias" ? item.expr : item;
      const shown = this.#value(inner);
      if (item.node === "Alias") this.#aliases.set(item.alias, shown);
      return { name: item.node === "Alias" ? item.alias : readNames(inner)?.at(-1), shown, node: inner };
    });
    const groups = node.group_by?.length ? node.group_by : undefined;
    const isGrouped = groups !== undefined || node.distinct || node.group_by_mode === "all";
    if (!isGrouped && node.select_from && !isAggregated([node.select, node.having]))
      throw new SqlProblem(
        "A link shows no list of events or sessions: group them, or count.",
        node.select_from,
      );
    const keys = groups?.map((item) => {
      const column = item.node === "Constant" ? columns[Number(item.value) - 1] : undefined;
      return column ?? { shown: this.#value(item), node: item };
    });
    const hidden = keys?.map(findHidden).find(Boolean);
    if (hidden) throw hidden;
    const { select: _, select_from: _from, group_by: _keys, ...conditions } = node;
    this.#refuseHidden(conditions);
    return columns;
  }

  /** A value of each event, or a figure of them, outside of a SELECT. @throws SqlProblem when it is hidden. */
  expression(node: ExpressionNode): void {
    refuseUnfollowed(node);
    this.#table = "events";
    const hidden = findHidden({ shown: this.#value(node), node });
    if (hidden) throw hidden;
  }

  #from(from: SelectQuery["select_from"]): void {
    if (!from) return;
    const { table, alias } = from;
    if (from.next_join || from.table_args || !table)
      throw new SqlProblem("A link shows a query of one table, without a JOIN.", from);
    const name = table.node === "Field" ? table.chain.join(".") : "";
    if (name !== "events" && name !== "sessions")
      throw new SqlProblem(
        "A link shows queries of the tables events and sessions, without SELECTs inside.",
        table,
      );
    this.#table = name;
    this.#tableName = alias ?? name;
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

  #value(node: ExpressionNode): Shown {
    const combine = (items: readonly ExpressionNode[]): Shown =>
      withoutTime(widest(items.map((item) => this.#value(item))), node);
    switch (node.node) {
      case "Constant":
        return typeof node.value === "number" || node.value_type === "number" ? "figure" : "constant";
      case "Field":
      case "ArrayAccess": {
        const path = readNames(node);
        return path ? this.#field(path, node) : hide(node);
      }
      case "ArithmeticOperation": {
        const sides = [node.left, node.right];
        const moment = sides.find((item) => !isInterval(item));
        if (sides.some(isInterval)) return moment ? this.#value(moment) : hide(node);
        return combine(sides);
      }
      case "CompareOperation": {
        const { right } = node;
        return combine([
          node.left,
          ...(right.node === "Tuple" || right.node === "Array" ? right.exprs : [right]),
        ]);
      }
      case "And":
      case "Or":
        return combine(node.exprs);
      case "Not":
        return this.#value(node.expr);
      case "Call":
        return this.#call(node);
      default:
        return hide(node);
    }
  }

  #field([first = "", ...rest]: readonly string[], node: ExpressionNode): Shown {
    if (this.#table && rest.length > 0 && first === this.#tableName)
      return this.#column(this.#table, rest, node);
    const alias = this.#aliases.get(first);
    if (alias) return rest.length > 0 ? hide(node) : alias;
    return this.#table ? this.#column(this.#table, [first, ...rest], node) : hide(node);
  }

  #call(node: CallNode): Shown {
    const name = node.name.toLowerCase();
    const base = name.replace(/if$/, "");
    const { args } = node;
    if (lists.counts.has(name) || lists.counts.has(base)) {
      this.#refuseHiddenCount(node, !lists.counts.has(name));
      return "figure";
    }
    if (lists.figures.has(name) || lists.figures.has(base)) {
      const value = args[0] ? this.#value(args[0]) : hide(node);
      if (value instanceof SqlProblem) return value;
      if (node.params?.some((item) => item.node !== "Constant")) return hide(node);
      this.#refuseHidden([args.slice(1), node.filter_expr, node.order_by]);
      if (value !== "time" && value !== "moment") return "figure";
      return base === "min" || base === "max" ? "time" : hide(node);
    }
    const values = args.filter((item) => item.node !== "Constant" && !isInterval(item));
    const value = widest(values.map((item) => this.#value(item)));
    if (lists.moments.has(name)) {
      const [unit] = args;
      const isFine =
        lists.byUnit.has(name) && !(unit?.node === "Constant" && lists.coarseUnits.has(String(unit.value)));
      if (value instanceof SqlProblem) return value;
      if (values.length !== 1 || isFine || value === "measure" || value === "figure") return hide(node);
      return value === "time" ? "moment" : value;
    }
    if (lists.nows.has(name)) return "moment";
    if (lists.functions.has(name)) return lists.sameMoment.has(name) ? value : withoutTime(value, node);
    return new SqlProblem(`${node.name}() is not among the figures and functions that a link shows.`, node);
  }

  /** A hidden column may be counted as it is; within anything else it could be read bit by bit. */
  #refuseHiddenCount({ args, params, filter_expr, order_by }: CallNode, hasCondition: boolean): void {
    const counted = hasCondition ? args.slice(0, -1) : args;
    const others = counted.filter((item) => item.node !== "Field" && readNames(item) === undefined);
    this.#refuseHidden([others, hasCondition ? args.at(-1) : [], params, filter_expr, order_by]);
  }

  /** @throws SqlProblem for what reads anything hidden, however deep. */
  #refuseHidden(value: unknown): void {
    if (Array.isArray(value)) return value.forEach((item) => this.#refuseHidden(item));
    if (typeof value !== "object" || value === null) return;
    const node = value as ExpressionNode;
    if (node.node === "Call" && lists.counts.has(node.name.toLowerCase().replace(/if$/, "")))
      return this.#refuseHiddenCount(node, !lists.counts.has(node.name.toLowerCase()));
    const path = readNames(node);
    const shown = path ? this.#field(path, node) : node.node === "Field" ? hide(node) : undefined;
    if (shown instanceof SqlProblem) throw shown;
    if (!path) Object.values(value).forEach((item) => this.#refuseHidden(item));
  }
}

/** A moment as it is, within a calculation, is hidden: what rounds it afterwards may round nothing. */
function withoutTime(shown: Shown, node: ExpressionNode): Shown {
  return shown === "time" ? hide(node) : shown;
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
const selects: ReadonlySet<string> = new Set(wordsIn("SelectQuery SelectSetQuery"));

/**
 * Refuses names and rows made within an expression, and SELECTs of their own: these are not followed.
 * @throws SqlProblem
 */
function refuseUnfollowed(tree: SelectQuery | ExpressionNode): void {
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (typeof value !== "object" || value === null) return;
    const node = value as ExpressionNode;
    if (selects.has(node.node)) throw new SqlProblem("A link shows one SELECT, without others inside.", node);
    if (node.node === "Alias") throw new SqlProblem("For a link, a name stands behind a whole column.", node);
    if (node.node === "Call" && rowMakers.has(node.name.toLowerCase())) throw hide(node);
    Object.values(value).forEach(walk);
  };
  if (tree.node !== "SelectQuery") return walk(tree);
  if (tree.array_join_list?.length) throw new SqlProblem("A link shows no ARRAY JOIN.", tree);
  if (tree.ctes?.length) throw new SqlProblem("A link shows one SELECT, without WITH.", tree);
  const { select: items, select_from: _, ...rest } = tree;
  walk([...items.map((item) => (item.node === "Alias" ? item.expr : item)), Object.values(rest)]);
}
