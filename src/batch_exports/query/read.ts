// Reads a native_query: one SELECT of expressions over one table, with an optional condition. HogQL has more;
// everything else in the tree is refused by name.

import { refuseInput } from "../../core/fault.ts";
import { wordsIn } from "../../core/words.ts";
import { SqlProblem } from "../../query/sql/compile/compile.ts";
import type { SqlParser } from "../../query/sql/parser/parser.ts";
import { splitTokens } from "../../query/sql/parser/text_bounds.ts";
import type { ExpressionNode, JoinExpr, SelectQuery } from "../../query/sql/tree.ts";
import { exportLimits } from "../limits.ts";
import { type ExportModel, exportTables, growingFunctions, queryFunctions } from "./tables.ts";

export interface SelectedColumn {
  node: ExpressionNode;
  alias: string | undefined;
  /** Written text. */
  text: string;
}

/** @throws Fault with the reason. */
export async function readNativeQuery(
  parse: SqlParser["parse"],
  text: string,
  { model, project_id }: { model: ExportModel; project_id: number },
): Promise<{ selected: SelectedColumn[]; where: ExpressionNode | undefined }> {
  const repaired = withPlainEscapes(text);
  const tree = await parse(repaired, "select", project_id).catch((thrown: unknown) =>
    refuseProblem("Failed to parse query", thrown),
  );
  if (tree.node === "SelectSetQuery") refuseQuery("UNIONs are not supported");
  if (tree.node !== "SelectQuery") refuseUnsupported("it must begin with SELECT.");
  checkParts(tree, model);
  const characters = [...repaired];
  const selected = tree.select.flatMap((item) => selectColumns(item, characters, model));
  if (tree.select.length > exportLimits.columnsMax || selected.length > exportLimits.columnsMax)
    refuseUnsupported(`more than ${exportLimits.columnsMax} columns.`);
  const where = tree.where ?? undefined;
  const check = new ExpressionCheck();
  for (const { node } of selected) check.expression(node);
  if (where) check.expression(where);
  return { selected, where };
}

/** LIKE's own escapes, \% and \_, may stand in a text as they are; in HogQL their backslash is escaped, too. */
function withPlainEscapes(text: string): string {
  const parts = splitTokens(text).map(([part]) =>
    part.startsWith("'") ? part.replace(/\\[^]/g, escapedOnce) : part,
  );
  return [...parts].join("");
}

const escapedOnce = (pair: string): string => (pair === "\\%" || pair === "\\_" ? `\\${pair}` : pair);

const ofSelect = new Set(["node", "start", "end", "select", "select_from", "where"]);
const ofTable = new Set(["node", "start", "end", "table"]);

function checkParts(tree: SelectQuery, model: ExportModel): void {
  const from: JoinExpr | null | undefined = tree.select_from;
  if (tree.ctes?.length) refuseInner();
  if (tree.array_join_list?.length || from?.next_join) refuseQuery("JOINs are not supported");
  refuseOthers(tree, ofSelect);
  if (!from) refuseQuery(`Query must SELECT FROM ${model}`);
  if (from.table?.node !== "Field") refuseInner();
  if (from.table.chain.join(".").toLowerCase() !== model || from.table_args)
    refuseQuery(`Query must only SELECT FROM ${model}`);
  refuseOthers(from, ofTable);
}

function refuseInner(): never {
  return refuseQuery("Subqueries or CTEs are not supported");
}

/** Refuses members of a node other than these. */
function refuseOthers(node: object, known: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(node)) {
    const isThere = value !== null && value !== undefined && value !== false;
    if (isThere && !known.has(name))
      refuseUnsupported(`${name.replaceAll("_", " ").toUpperCase()} is not supported.`);
  }
}

/** A star is every column. */
function selectColumns(node: ExpressionNode, characters: readonly string[], model: ExportModel) {
  if (node.node === "Field" && node.chain.length === 1 && node.chain[0] === "*") {
    return exportTables[model].star.map((name) => ({
      node: { ...node, chain: [name] },
      alias: undefined,
      text: name,
    }));
  }
  const inner = node.node === "Alias" ? node.expr : node;
  const text = characters.slice(inner.start?.offset, inner.end?.offset).join("");
  return [{ node: inner, alias: node.node === "Alias" ? node.alias : undefined, text }];
}

/** Counts the parts of expressions, and refuses those that are not of one row. */
class ExpressionCheck {
  #parts = 0;
  #growing = 0;

  expression(node: ExpressionNode): void {
    if (++this.#parts > exportLimits.queryPartsMax)
      refuseUnsupported(`it has more than ${exportLimits.queryPartsMax} parts.`);
    for (const item of this.#within(node)) this.expression(item);
  }

  #within(node: ExpressionNode): readonly ExpressionNode[] {
    switch (node.node) {
      case "Constant":
        // These are texts; a number of so many digits exceeds 64 bits.
        if (node.value_type && /^-?\d{20}/.test(String(node.value)))
          refuseUnsupported("a number is too large.");
        return [];
      case "Call":
        return this.#call(node.name, node.args);
      case "CompareOperation":
        if (/\bin$/.test(node.op)) checkList(node.right);
        return node.right.node === "Tuple" || node.right.node === "Array"
          ? [node.left, ...node.right.exprs]
          : [node.left, node.right];
      case "SelectQuery":
      case "SelectSetQuery":
        return refuseInner();
    }
    if (!plainNodes.has(node.node)) refuseUnsupported(`${node.node} is not supported.`);
    const members = Object.values(node).flat() as (ExpressionNode | null | undefined)[];
    return members.filter((member) => member?.node !== undefined) as ExpressionNode[];
  }

  #call(name: string, args: readonly ExpressionNode[]): readonly ExpressionNode[] {
    const lower = name.toLowerCase();
    if (!queryFunctions.has(lower)) refuseUnsupported(`the function ${name.slice(0, 64)} is not supported.`);
    if (growingFunctions.has(lower) && ++this.#growing > exportLimits.queryGrowthMax)
      refuseUnsupported(`more than ${exportLimits.queryGrowthMax} functions that make texts longer.`);
    return args;
  }
}

/** Nodes of which every member may be part of an expression. */
const plainNodes = new Set<string>(
  wordsIn("Field ArithmeticOperation And Or Not BetweenExpr ArrayAccess TupleAccess"),
);

/** The list after IN. */
function checkList(node: ExpressionNode): void {
  const list = node.node === "Tuple" || node.node === "Array" ? node.exprs : [node];
  if (list.some((item) => item.node === "SelectQuery" || item.node === "SelectSetQuery")) refuseInner();
  if (list.some((item) => item.node !== "Constant"))
    refuseUnsupported("IN takes a list of texts or numbers.");
}

/** @throws Fault invalid_input with the query's field. */
export function refuseQuery(detail: string): never {
  return refuseInput(detail, "native_query");
}

/** Refuses HogQL with its problem and position. */
export function refuseProblem(what: string, thrown: unknown): never {
  if (!(thrown instanceof SqlProblem)) throw thrown;
  const { message, start } = thrown;
  return refuseQuery(`${what}: ${message}${start === undefined ? "" : ` (Character ${start + 1}.)`}`);
}

export function refuseUnsupported(detail: string): never {
  return refuseQuery(`Unsupported HogQL query: ${detail}`);
}
