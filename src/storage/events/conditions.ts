// The WHERE clause of a project's list, with its parameters. Column names come from the code only.

export interface Conditions {
  where: string;
  params: Record<string, unknown>;
}

/**
 * Conditions on the project, on columns that must equal a text, and on the span of `timestamp`.
 * @param equal column → text; undefined does not filter.
 * @param span moments as `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive.
 */
export function buildConditions(
  project_id: number,
  equal: Readonly<Record<string, string | undefined>>,
  span: { after?: string | undefined; before?: string | undefined },
): Conditions {
  const clauses = ["project_id = {project_id:UInt32}"];
  const params: Record<string, unknown> = { project_id };
  const narrow = (clause: string, name: string, value: string | undefined): void => {
    if (value === undefined) return;
    clauses.push(clause);
    params[name] = value;
  };
  for (const [column, value] of Object.entries(equal))
    narrow(`${column} = {${column}:String}`, column, value);
  narrow("timestamp > toDateTime64({after:String}, 6, 'UTC')", "after", span.after);
  narrow("timestamp < toDateTime64({before:String}, 6, 'UTC')", "before", span.before);
  return { where: clauses.join(" AND "), params };
}
