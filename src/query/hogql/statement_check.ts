// A second check: the engine itself reads a finished statement of a client's SQL before it runs. It does not trust the
// compiler: what it finds wrong is our mistake, an assertion.

import { yieldToEventLoop } from "../../core/clock.ts";
import { wordsIn } from "../../core/words.ts";
import type { QueryContext } from "../store.ts";
import { findWrong } from "./statement_functions.ts";

/** The tables and views that compiled statements read; all have a project_id. */
const tables: ReadonlySet<string> = new Set(
  wordsIn(`
    events stored_events event_rows persons person_texts person_values person_distinct_ids groups group_types
    sessions session_recordings ingestion_warnings persons_behind
  `),
);
/** Functions that make rows of numbers, and read nothing. */
const tableFunctions: ReadonlySet<string> = new Set(wordsIn("numbers generateSeries generate_series values"));
interface TreeLine {
  depth: number;
  text: string;
  /** The index of the line that it is below; -1 for the first. */
  parent: number;
}

/** @throws Error when the statement names what it must not, or a table without its project's condition. */
export async function checkStatement(
  { run, project_id }: Pick<QueryContext, "run" | "project_id">,
  statement: string,
  parameters: Record<string, unknown>,
): Promise<void> {
  const rows = await run<{ explain: string }>(`EXPLAIN QUERY TREE run_passes = 0 ${statement}`, parameters);
  await yieldToEventLoop();
  const wrong = wrongIn(
    rows.map(({ explain }) => explain),
    project_id,
  );
  if (wrong !== undefined) throw new Error(`a compiled query is not run: ${wrong}`);
}

/** What is wrong in a query tree, as the engine prints it: a node a line, below its parent by two blanks. */
export function wrongIn(printed: readonly string[], project_id: number): string | undefined {
  const lines = treeLines(printed.flatMap((text) => text.split("\n")));
  if (lines[0] === undefined || !/^(?:QUERY|UNION) id: /.test(lines[0].text)) return "it has no tree";
  for (const [i, { text, depth }] of lines.entries()) {
    const functionName = readValue(text, "FUNCTION", "function_name");
    const wrong = functionName && findWrong(functionName, () => constantsBelow(lines, i));
    if (wrong) return wrong;
    const tableFunction = readValue(text, "TABLE_FUNCTION", "table_function_name");
    if (tableFunction !== undefined && !tableFunctions.has(tableFunction))
      return `the table ${tableFunction}()`;
    if (text.startsWith("TABLE id: ")) return "a table that is resolved";
    if (isSetTable(lines, i)) return "a table behind IN";
    const table = tableAt(lines, i);
    if (table === undefined || table === "system.one") continue;
    if (!tables.has(table)) return `the table ${table}`;
    if (!hasCondition(lines, i, depth, project_id)) return `the table ${table} without its project`;
  }
  return undefined;
}

function treeLines(printed: readonly string[]): TreeLine[] {
  /** The last line and its ancestors, from the root. */
  const open: number[] = [];
  const lines: TreeLine[] = [];
  for (const [i, line] of printed.entries()) {
    const depth = (line.length - line.trimStart().length) / 2;
    while (open.length > 0 && lines[open.at(-1)!]!.depth >= depth) open.pop();
    lines.push({ depth, text: line.trim(), parent: open.at(-1) ?? -1 });
    open.push(i);
  }
  return lines;
}

/** `name: value` of a node of this sort; its value ends at a comma. */
function readValue(text: string, node: string, name: string): string | undefined {
  if (!text.startsWith(`${node} id: `)) return undefined;
  const at = text.indexOf(` ${name}: `);
  return at < 0 ? undefined : text.slice(at + name.length + 3).split(",", 1)[0];
}

/** The arguments of a call: texts of constants, undefined for any other. FUNCTION → ARGUMENTS → LIST → its members. */
function constantsBelow(lines: readonly TreeLine[], i: number): (string | undefined)[] {
  const constants: (string | undefined)[] = [];
  const { depth } = lines[i]!;
  for (let at = i + 3; at < lines.length && lines[at]!.depth > depth; at++) {
    if (lines[at]!.depth !== depth + 3) continue;
    const [, value] = lines[at]!.text.split(" constant_value: '");
    constants.push(value?.split("', constant_value_type: String", 1)[0]);
  }
  return constants;
}

const tableNodes = /^(?:JOIN TREE|(?:LEFT |RIGHT )?TABLE EXPRESSION)$/;

/** The name of the table that this line reads. */
function tableAt(lines: readonly TreeLine[], i: number): string | undefined {
  const name = readValue(lines[i]!.text, "IDENTIFIER", "identifier");
  return name !== undefined && tableNodes.test(textAt(lines, lines[i]!.parent)) ? name : undefined;
}

/** Whether this is a bare name after IN, which the engine reads as a table. */
function isSetTable(lines: readonly TreeLine[], i: number): boolean {
  const name = readValue(lines[i]!.text, "IDENTIFIER", "identifier");
  if (name === undefined || (name.includes(".") && !name.startsWith("system."))) return false;
  // FUNCTION in → ARGUMENTS → LIST → its members, of which the first precedes IN.
  const list = lines[i]!.parent;
  const above = lines[list]?.parent ?? -1;
  if (i === list + 1 || textAt(lines, above) !== "ARGUMENTS") return false;
  const call = textAt(lines, lines[above]!.parent);
  return /\bfunction_name: (?:global)?(?:not)?(?:null)?in(?:ignoreset)?,/i.test(call);
}

const textAt = (lines: readonly TreeLine[], i: number): string => lines[i]?.text ?? "";

/** Whether the query whose only table this is has `project_id = <the project>` as its WHERE, or joined by AND. */
function hasCondition(lines: readonly TreeLine[], i: number, depth: number, project_id: number): boolean {
  // The table is the JOIN TREE's own child; JOIN TREE and WHERE are siblings.
  if (textAt(lines, lines[i]!.parent) !== "JOIN TREE") return false;
  const level = depth - 1;
  let where = i + 1;
  while (where < lines.length && lines[where]!.depth > level) where++;
  if (lines[where]?.depth !== level || lines[where]?.text !== "WHERE") return false;
  const root = where + 1;
  if (isProject(lines, root, project_id)) return true;
  if (!/\bfunction_name: and,/.test(lines[root]?.text ?? "")) return false;
  // FUNCTION and → ARGUMENTS → LIST → its members.
  const member = lines[root]!.depth + 3;
  for (let at = root + 1; at < lines.length && lines[at]!.depth > lines[root]!.depth; at++) {
    if (lines[at]!.depth === member && isProject(lines, at, project_id)) return true;
  }
  return false;
}

/** `equals(project_id, _CAST(N, 'UInt32'))`, as a parameter becomes. */
function isProject(lines: readonly TreeLine[], i: number, project_id: number): boolean {
  const shape = lines.slice(i, i + 9).map(({ text }) => text.replaceAll(/\bid: \d+,? ?/g, ""));
  const [equals = "", , , column = "", cast = "", , , value = "", type = ""] = shape;
  return (
    equals.startsWith("FUNCTION function_name: equals,") &&
    column === "IDENTIFIER identifier: project_id" &&
    cast.startsWith("FUNCTION function_name: _CAST,") &&
    value.startsWith(`CONSTANT constant_value: UInt64_${project_id},`) &&
    type.startsWith("CONSTANT constant_value: 'UInt32',")
  );
}
