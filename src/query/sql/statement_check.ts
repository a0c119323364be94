// A second check: the engine itself reads a finished statement of a client's SQL before it runs. It does not trust the
// compiler: what it finds wrong is our mistake, an assertion. Functions are those of the language and those that the
// compiler uses; their arguments may be certain names of the engine's.

import { yieldToEventLoop } from "../../core/clock.ts";
import { wordsIn } from "../../core/words.ts";
import { toEngineZone } from "../../storage/clickhouse/zones.ts";
import type { QueryContext } from "../store.ts";
import { sqlAggregate } from "./compile/lists/aggregates.ts";
import { functionsIn, sqlFunctions } from "./compile/lists/functions.ts";
import { chooseKinds } from "./compile/lists/kinds.ts";

/** The tables and views that compiled statements read; all have a project_id. */
const tables: ReadonlySet<string> = new Set(
  wordsIn(`
    events stored_events event_rows persons person_texts person_values person_distinct_ids groups group_types
    sessions session_recordings ingestion_warnings persons_behind
  `),
);
/** Functions that make rows of numbers, and read nothing. */
const tableFunctions: ReadonlySet<string> = new Set(wordsIn("numbers generateSeries generate_series values"));

interface TreeNode {
  text: string;
  depth: number;
  parent: TreeNode | undefined;
  children: TreeNode[];
}

/** @throws Error when the statement names what it must not, or a table without its project's condition. */
export async function checkStatement(
  { run, project_id }: Pick<QueryContext, "run" | "project_id">,
  statement: string,
  parameters: Record<string, unknown>,
): Promise<void> {
  const rows = await run<{ explain: string }>(`EXPLAIN QUERY TREE run_passes = 0 ${statement}`, parameters);
  await yieldToEventLoop();
  const printed = rows.map(({ explain }) => explain);
  const wrong = wrongIn(printed, project_id);
  if (wrong !== undefined) throw new Error(`a compiled query is not run: ${wrong}`);
}

/** Finds what is wrong in a query tree, as the engine prints it: a node a line, below its parent by two blanks. */
export function wrongIn(printed: readonly string[], project_id: number): string | undefined {
  const nodes = readNodes(printed.flatMap((text) => text.split("\n")));
  if (!/^(?:QUERY|UNION) id: /.test(nodes[0]?.text ?? "")) return "it has no tree";
  for (const node of nodes) {
    const functionName = readValue(node, "FUNCTION", "function_name");
    const wrong = functionName && findWrong(functionName, () => listMembers(node).map(readConstant));
    if (wrong) return wrong;
    const tableFunction = readValue(node, "TABLE_FUNCTION", "table_function_name");
    if (tableFunction !== undefined && !tableFunctions.has(tableFunction))
      return `the table ${tableFunction}()`;
    if (node.text.startsWith("TABLE id: ")) return "a table that is resolved";
    const name = readValue(node, "IDENTIFIER", "identifier");
    if (name === undefined) continue;
    if (isSetTable(node, name)) return "a table behind IN";
    if (!tableNodes.test(node.parent?.text ?? "") || name === "system.one") continue;
    if (!tables.has(name)) return `the table ${name}`;
    if (!hasCondition(node, project_id)) return `the table ${name} without its project`;
  }
  return undefined;
}

function readNodes(printed: readonly string[]): TreeNode[] {
  let last: TreeNode | undefined;
  return printed.map((line) => {
    const depth = line.length - line.trimStart().length;
    let parent = last;
    while (parent && parent.depth >= depth) parent = parent.parent;
    last = { text: line.trim(), depth, parent, children: [] };
    parent?.children.push(last);
    return last;
  });
}

/** `name: value` of a node of this sort; its value ends at a comma. */
function readValue({ text }: TreeNode, sort: string, name: string): string | undefined {
  if (!text.startsWith(`${sort} id: `)) return undefined;
  const at = text.indexOf(` ${name}: `);
  return at < 0 ? undefined : text.slice(at + name.length + 3).split(",", 1)[0];
}

/** The arguments of a call. FUNCTION → ARGUMENTS → LIST → its members. */
const listMembers = ({ children }: TreeNode): TreeNode[] =>
  children.flatMap((part) => part.children.flatMap((list) => list.children));

/** The text of a constant; undefined for any other node. */
function readConstant({ text }: TreeNode): string | undefined {
  const [, value] = text.split(" constant_value: '");
  return value?.split("', constant_value_type: String", 1)[0];
}

/** Nodes whose identifiers are names of tables. */
const tableNodes = /^(?:JOIN TREE|(?:LEFT |RIGHT )?TABLE EXPRESSION)$/;

/** Whether this is a bare name after IN, which the engine reads as a table. */
function isSetTable(node: TreeNode, name: string): boolean {
  if (name.includes(".") && !name.startsWith("system.")) return false;
  // FUNCTION in → ARGUMENTS → LIST → its members, of which the first precedes IN.
  const { parent: list } = node;
  if (list?.parent?.text !== "ARGUMENTS" || list.children[0] === node) return false;
  const call = list.parent.parent?.text ?? "";
  return /\bfunction_name: (?:global)?(?:not)?(?:null)?in(?:ignoreset)?,/i.test(call);
}

/** Whether the query whose only table this is has `project_id = <the project>` as its WHERE, or joined by AND. */
function hasCondition({ parent: join }: TreeNode, project_id: number): boolean {
  // The table is the JOIN TREE's own child; JOIN TREE and WHERE are siblings.
  if (join?.text !== "JOIN TREE") return false;
  const siblings = join.parent?.children ?? [];
  const where = siblings[siblings.indexOf(join) + 1];
  const [root] = where?.text === "WHERE" ? where.children : [];
  if (!root) return false;
  const parts = /\bfunction_name: and,/.test(root.text) ? listMembers(root) : [root];
  return parts.some((part) => isProject(part, project_id));
}

/** `equals(project_id, _CAST(N, 'UInt32'))`, as a parameter becomes. */
function isProject(equals: TreeNode, project_id: number): boolean {
  const [column, cast] = listMembers(equals);
  const nodes = [equals, column, cast, ...(cast ? listMembers(cast) : [])];
  const texts = nodes.map((node) => node?.text.replaceAll(/\bid: \d+,? ?/g, "") ?? "");
  return (
    texts[0]!.startsWith("FUNCTION function_name: equals,") &&
    texts[1] === "IDENTIFIER identifier: project_id" &&
    texts[2]!.startsWith("FUNCTION function_name: _CAST,") &&
    texts[3]?.startsWith(`CONSTANT constant_value: UInt64_${project_id},`) === true &&
    texts[4]?.startsWith("CONSTANT constant_value: 'UInt32',") === true
  );
}

/** Operators as the engine names them, and functions of shapes, columns and filters that the lists do not have. */
const ownFunctions = functionsIn<object>(`
unknown v*: and or xor not equals notEquals less lessOrEquals greater greaterOrEquals like notLike ilike notILike in
unknown v*: globalIn globalNotIn notIn exists toBool toInt64 toUInt128 toFloat64OrNull toDate toDate32 if multiIf
unknown v*: ifNull nullIf coalesce greatest least concat hasAny hasAll
unknown vz: toTimeZone
unknown v?z: toDateTime fromUnixTimestamp64Milli
unknown v?iz: toDateTime64 parseDateTime64BestEffort parseDateTime64BestEffortOrNull
unknown v?iz: parseDateTime64BestEffortUSOrNull
unknown vf?z: parseDateTimeOrNull
unknown vvvvvv?z: makeDateTime
unknown v*t: JSONExtract
unknown vt: CAST _CAST accurateCastOrNull
`);

/** The kinds of their arguments, by their exact spelling. */
const functions: ReadonlyMap<string, string> = new Map(
  [...sqlFunctions.values(), ...ownFunctions.values()].map(({ name, args }) => [name, args]),
);

/** Types of the language, of parameters and of our own conversions. */
const type =
  /^(?:(?:Array|Nullable|Tuple|Map)\(|\)|, ?|U?Int\d{1,3}|Float(?:32|64)|String|Bool|UUID|Date(?:32|Time)?)+$/;
const decimal = /Decimal64\(1?\d\)/g;

const names: Readonly<Record<string, (value: string) => boolean>> = {
  z: (value) => toEngineZone(value) === value,
  t: (value) => type.test(value.replaceAll(decimal, "Float64")),
  u: (value) => /^[a-z]+$/.test(value),
  f: () => true,
  p: () => true,
};

/**
 * Finds what is wrong with a call; undefined when nothing is.
 * @param readArguments returns constants of text, and undefined for each other argument.
 */
function findWrong(name: string, readArguments: () => (string | undefined)[]): string | undefined {
  const args = functions.get(name);
  if (args === undefined) return isAggregate(name) ? undefined : `the function ${name}`;
  if (!/[ztufp]/.test(args)) return undefined;
  const values = readArguments();
  const kinds = chooseKinds(args, values.length);
  const wrong = values.some((value, i) => {
    const isName = names[kinds[i] ?? ""];
    return isName && (value === undefined || !isName(value));
  });
  return wrong ? `an argument of ${name}` : undefined;
}

/** An aggregate of the list, with what FILTER and DISTINCT append to its name. */
function isAggregate(name: string): boolean {
  if (sqlAggregate(name)?.name === name) return true;
  const inner = name.replace(/(?:If|Distinct)$/, "");
  return inner !== name && isAggregate(inner);
}
