// Types of the properties that a query in SQL names, from the project's definitions: at PostHog, too, a property is
// compared, ordered and returned with the type of its first value.

import type { QueryContext } from "../store.ts";
import type { PropertyTypes } from "./compile/compile.ts";
import type { ExpressionNode, SelectTree } from "./tree.ts";

/** Kinds of definitions, by what has the property. */
const owners = { 1: "event", 2: "person", 3: "group" } as const;

/** Reads the types of all names in the trees at once; reads nothing if they name no property. */
export async function findPropertyTypes(
  { run, project_id }: Pick<QueryContext, "run" | "project_id">,
  trees: readonly (SelectTree | ExpressionNode)[],
): Promise<PropertyTypes> {
  const names = new Set<string>();
  collectNames(trees, names);
  if (names.size === 0) return () => undefined;
  // A property name of several group types has a type when all of them agree.
  const rows = await run<{ kind: keyof typeof owners; name: string; type: string }>(
    `SELECT kind, name, any(detected) AS type
     FROM (
       SELECT kind, group_type, name, substring(min(typed), 22) AS detected
       FROM definitions
       WHERE project_id = {project_id:UInt32} AND kind IN (1, 2, 3) AND name IN {names:Array(String)}
       GROUP BY kind, group_type, name
     )
     GROUP BY kind, name
     HAVING uniqExact(detected) = 1 AND type IN ('Numeric', 'Boolean', 'DateTime')`,
    { project_id, names: [...names] },
  );
  const types = new Map(rows.map(({ kind, name, type }) => [`${owners[kind]} ${name}`, type]));
  return (owner, name) => types.get(`${owner} ${name}`) as ReturnType<PropertyTypes>;
}

/** The name behind a dot or in brackets; the parser bounds the words of a query. */
function collectNames(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) {
    for (const item of node) collectNames(item, names);
    return;
  }
  if (typeof node !== "object" || node === null) return;
  const { node: kind, chain, property } = node as Record<string, unknown>;
  if (kind === "Field" && Array.isArray(chain)) for (const name of chain.slice(1)) names.add(String(name));
  if (kind === "ArrayAccess") {
    const { value } = property as { value?: unknown };
    if (typeof value === "string") names.add(value);
  }
  for (const member of Object.values(node)) if (typeof member === "object") collectNames(member, names);
}
