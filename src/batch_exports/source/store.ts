// What an export reads, as ClickHouse statements: rows of one model, in one interval, in the shape of a file. Holds
// SQL because exports are statements; values only ever travel as parameters.

import { type ExportColumn, isMoment, isoSql, personProperties } from "./columns.ts";
import type { EventChoice } from "../destinations/config.ts";
import type { ExportInterval } from "../runs/interval.ts";
import type { CompiledQuery } from "../query/compile.ts";

/** SQL with its parameters. */
export interface ExportStatement {
  text: string;
  params: Record<string, unknown>;
}

/** A condition on rows, over the model's own columns. */
export type Condition = ExportStatement;

export interface ExportSource {
  project_id: number;
  model: "events" | "persons";
  interval: ExportInterval;
  choice: EventChoice;
  /** All of them must hold. */
  conditions: readonly Condition[];
  columns: readonly ExportColumn[];
  /** What the owner asks for instead, if anything; `columns` are its then. */
  own: CompiledQuery | undefined;
  /** Persons are set aside before they are read: under which name. */
  held?: string | undefined;
}

/**
 * How rows are laid out. lines: one column `line`, each a JSON object; columns: as in the model; texts: cells of a
 * table without types; harmless_texts: the same, and a spreadsheet takes none for a formula.
 */
export type FileLayout = "lines" | "columns" | "texts" | "harmless_texts";

export interface Selection {
  /** What stands behind INSERT INTO …: the SELECT. */
  select: ExportStatement;
  /** The columns it gives, as ClickHouse declares them. */
  structure: string;
  /** What tells one row from another, over those columns. */
  identity: string;
}

/** The days on which rows of the interval happened: what a FINAL has to look at. */
export function daysOf(source: ExportSource): ExportStatement {
  // Persons rest by their ids, which every interval has to look through.
  if (source.model === "persons") return { text: "SELECT toString(today()) AS day", params: {} };
  const { where, params } = arrival(source);
  return {
    text: `SELECT DISTINCT toString(toDate(timestamp)) AS day FROM event_rows WHERE ${where} ORDER BY day`,
    params,
  };
}

/** Everything of the interval in a layout. `days`: what daysOf found. */
export function selectionOf(source: ExportSource, layout: FileLayout, days: readonly string[]): Selection {
  const { columns, own, model } = source;
  const from = fromText(source, days, true);
  const { params } = from;
  if (layout === "lines") {
    const members = columns.map(({ name, json }, i) => `'${i === 0 ? "{" : ","}${quoted(name)}:', ${json}`);
    return {
      select: { text: `SELECT concat(${members.join(", ")}, '}') AS line ${from.text}`, params },
      structure: "line String",
      // A line of our own begins with the uuid; the engine's text of a long line costs more to hash.
      identity: own || model === "persons" ? "cityHash64(line)" : "cityHash64(substring(line, 1, 48))",
    };
  }
  const typed = layout === "columns";
  const cellOf = layout === "texts" ? cell : harmlessCell;
  // Computed under names that no column has, so that none of them is taken for the column it is named like.
  const computed = columns.map((one, i) => `${typed ? one.sql : cellOf(one)} AS c${i}`);
  const shown = columns.map((one, i) => `c${i} AS ${nameOf(one)}`);
  const declared = columns.map((one) => `${nameOf(one)} ${typed ? one.type : "String"}`);
  const names = own || model === "persons" ? columns.map(nameOf) : columns.slice(0, 1).map(nameOf);
  return {
    select: { text: `SELECT ${shown.join(", ")} FROM (SELECT ${computed.join(", ")} ${from.text})`, params },
    structure: declared.join(", "),
    identity: `ifNull(cityHash64(${names.map((name) => `toString(${name})`).join(", ")}), 0)`,
  };
}

/** The columns of a source, in its order, in the engine's own types. */
export function describeOf(source: ExportSource, days: readonly string[]): ExportStatement {
  const { select } = selectionOf(source, "columns", days);
  return { text: `DESCRIBE TABLE (${select.text})`, params: select.params };
}

/** How many rows there are, by the same conditions in the same interval. */
export function countOf(source: ExportSource, days: readonly string[]): ExportStatement {
  const { own, model, conditions } = source;
  // Who did them is looked up only where somebody may ask for it: that is half the cost of counting.
  const plain = model === "events" && !own && conditions.length === 0;
  const { text, params } = plain ? eventRows(source, days, "stored_events") : fromText(source, days);
  return { text: `SELECT count() AS rows ${plain ? "FROM " : ""}${text}`, params };
}

/** How many rows, and about how many bytes they are when laid out. */
export function sizeOf({ select }: Selection): ExportStatement {
  return {
    text: `SELECT count() AS rows, sum(byteSize(*)) AS bytes FROM (${select.text})`,
    params: select.params,
  };
}

/** A few of the rows, as text. */
export function sampleOf({ select }: Selection, rows: number): ExportStatement {
  return {
    text: `SELECT toJSONString(tuple(*)) AS row FROM (${select.text} LIMIT {sample_rows:UInt64})`,
    params: { ...select.params, sample_rows: rows },
  };
}

/** Which of `files` files have rows, and how many. */
export function filesOf({ select, identity }: Selection, files: number): ExportStatement {
  return {
    text:
      `SELECT ${identity} % {files:UInt64} AS file, count() AS rows FROM (${select.text}) ` +
      "GROUP BY file ORDER BY file",
    params: { ...select.params, files },
  };
}

/** The rows of one of `files` files. */
export function fileOf({ select, identity }: Selection, files: number, file: string): ExportStatement {
  const where = `${identity} % {files:UInt64} = {file:UInt64}`;
  return {
    text: `SELECT * FROM (${select.text}) WHERE ${where}`,
    params: { ...select.params, files, file },
  };
}

const heldColumns =
  "project_id, team_id, distinct_id, person_id, properties, person_distinct_id_version, person_version, created_at, " +
  "_inserted_at, is_deleted";

/** Sets the persons of a source aside, under the name it is to have as `held`. */
export function holdOf(source: ExportSource, held: string, mark: string): ExportStatement {
  const { text, params } = personRows({ ...source, held: undefined });
  return {
    text:
      `INSERT INTO exported_person_rows (attempt, ${heldColumns}) ` +
      `SELECT {held:UUID}, ${heldColumns} FROM ${text} ${marked(mark)}`,
    params: { ...params, held },
  };
}

/** Drops them again. */
export function dropHeldOf(held: string): ExportStatement {
  return { text: "ALTER TABLE exported_person_rows DROP PARTITION {held:UUID}", params: { held } };
}

/** Stops what runs under a mark, whoever began it. */
export function killOf(mark: string): ExportStatement {
  return {
    text: "KILL QUERY WHERE Settings['log_comment'] = {mark:String} ASYNC FORMAT Null",
    params: { mark },
  };
}

/** A statement's text is not kept as it was sent, its settings are. */
export function marked(mark: string): string {
  if (!/^[\w -]+$/.test(mark)) throw new Error("a mark is letters, digits and dashes");
  return `SETTINGS log_comment = '${mark}'`;
}

/** When the first of a project's rows arrived, in ms. */
export function firstArrivalOf(project_id: number, model: ExportSource["model"]): ExportStatement {
  const [rows, arrived] =
    model === "persons" ? ["person_distinct_ids", "changed_at"] : ["event_rows", "created_at"];
  return {
    text:
      `SELECT count() AS rows, toString(toUnixTimestamp64Milli(min(${arrived}))) AS first FROM ${rows} ` +
      "WHERE project_id = {project:UInt32}",
    params: { project: project_id },
  };
}

/** A cell of a table without types. */
function cell({ sql, type }: ExportColumn): string {
  if (isMoment(type)) return `ifNull(concat(${isoSql(sql)}), '')`;
  return type === "String" ? `ifNull(${sql}, '')` : `ifNull(toString(${sql}), '')`;
}

/** What spreadsheets take for the beginning of a formula, in both widths, and what some of them skip before it. */
const formulaStarts = "['=', '+', '-', '@', '＝', '＋', '－', '＠', '\\t', '\\r', '\\n']";

/** With an apostrophe before what may be a formula, also a number below zero: it stays what it says. */
function harmlessCell(column: ExportColumn): string {
  const text = cell(column);
  return `concat(if(has(${formulaStarts}, substringUTF8(${text}, 1, 1)), '\\'', ''), ${text})`;
}

function nameOf({ name }: ExportColumn): string {
  return `\`${name}\``;
}

function fromText(source: ExportSource, days: readonly string[], persons = false): ExportStatement {
  const { own, model, columns } = source;
  const joined = persons && columns.some(({ name }) => name === personProperties) && !own;
  const events = () => (joined ? eventsWithPersons(source, days) : eventRows(source, days));
  const rows = model === "persons" ? personRows(source) : events();
  const params = { ...rows.params, ...own?.params };
  if (!own && model === "events") return { text: `FROM ${rows.text}`, params };
  // From a table of its own, so that nothing the owner names can stand for what holds it to its project.
  const where = own?.where_sql === undefined ? "" : ` WHERE ${own.where_sql}`;
  return { text: `FROM (SELECT * FROM ${rows.text})${where}`, params };
}

/** Beside each event what is known of its person now. Only who did one of them is put together. */
function eventsWithPersons(source: ExportSource, days: readonly string[]): ExportStatement {
  const { text, params } = eventRows(source, days);
  const { where } = arrival(source);
  const main_ids =
    "SELECT if(m.main_id = '', e.distinct_id, m.main_id) FROM " +
    `(SELECT DISTINCT distinct_id FROM event_rows WHERE ${where} AND toDate(timestamp) IN {days:Array(Date)}) AS e ` +
    "LEFT ANY JOIN (SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = {project:UInt32}) AS m " +
    "ON e.distinct_id = m.distinct_id";
  const known =
    `SELECT person_id, properties AS ${personProperties} FROM person_texts ` +
    `WHERE project_id = {project:UInt32} AND main_id IN (${main_ids})`;
  return {
    text: `(SELECT * FROM (SELECT * FROM ${text}) AS e LEFT ANY JOIN (${known}) AS p USING (person_id))`,
    params,
  };
}

function eventRows(source: ExportSource, days: readonly string[], view = "events"): ExportStatement {
  const { include_events, exclude_events } = source.choice;
  const { where, params } = arrival(source);
  const clauses = [where, "toDate(timestamp) IN {days:Array(Date)}"];
  Object.assign(params, { days });
  if (include_events.length > 0) {
    clauses.push("event IN {include_events:Array(String)}");
    Object.assign(params, { include_events });
  }
  if (exclude_events.length > 0) {
    clauses.push("event NOT IN {exclude_events:Array(String)}");
    Object.assign(params, { exclude_events });
  }
  return narrowed(view, clauses, params, source.conditions);
}

/**
 * Each id of the persons whose last change arrived in the interval, with what is known of them now: or was, when
 * they were set aside.
 */
function personRows(source: ExportSource): ExportStatement {
  const { held, project_id } = source;
  if (held !== undefined) {
    const text = "exported_person_rows WHERE attempt = {held:UUID} AND project_id = {project:UInt32}";
    return { text, params: { held, project: project_id } };
  }
  const { where, params } = arrival(source, "_inserted_at");
  return narrowed("exported_persons", [where], params, source.conditions);
}

function narrowed(
  rows: string,
  clauses: string[],
  params: Record<string, unknown>,
  conditions: readonly Condition[],
): ExportStatement {
  const all = [...clauses, ...conditions.map(({ text }) => `(${text})`)];
  const joined = Object.assign({}, params, ...conditions.map((one) => one.params)) as Record<string, unknown>;
  return { text: `${rows} WHERE ${all.join(" AND ")}`, params: joined };
}

/** The project and the interval of arrival; half-open. */
function arrival(
  { project_id, interval }: ExportSource,
  column: "created_at" | "_inserted_at" = "created_at",
): { where: string; params: Record<string, unknown> } {
  const clauses = ["project_id = {project:UInt32}"];
  const params: Record<string, unknown> = { project: project_id, until: interval.end };
  if (interval.start !== null) {
    clauses.push(`${column} >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`);
    params["since"] = interval.start;
  }
  clauses.push(`${column} < fromUnixTimestamp64Milli({until:Int64}, 'UTC')`);
  return { where: clauses.join(" AND "), params };
}

/** A JSON member's name inside a ClickHouse string literal. */
function quoted(name: string): string {
  return JSON.stringify(name).replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
