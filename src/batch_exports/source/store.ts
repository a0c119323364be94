// The statements that read rows for an export: rows of one model, in one interval, in the layout of a file. Values are
// parameters.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { quoteName, quoteText, type Tables } from "../../storage/clickhouse/statement.ts";
import type { ExportInterval } from "../interval.ts";
import type { CompiledQuery } from "../query/compile.ts";
import { type ExportColumn, isMoment, isoSql, personProperties } from "./columns.ts";

export interface ExportStatement {
  text: string;
  params: Record<string, unknown>;
}

/** Events by their exact names; an empty list filters nothing. */
export interface ExportedNames {
  include_events: string[];
  exclude_events: string[];
}

export interface ExportSource {
  project_id: number;
  model: "events" | "persons";
  interval: ExportInterval;
  /** Text in the names of files, next to the interval, that tells them from another export's. */
  own_name?: string | undefined;
  /** The span that earlier runs covered, in ms since 1970: a person outside it was not exported. */
  exported?: { from: number; until: number } | undefined;
  /** The column whose moments decide what is in the interval; `timestamp` in a backfill of events. */
  moment: "created_at" | "timestamp" | "_inserted_at";
  events: ExportedNames;
  /** Conditions over the model's columns that must all hold. */
  conditions: readonly ExportStatement[];
  columns: readonly ExportColumn[];
  /** The compiled native_query, if any; `columns` are then those of the query. */
  compiled: CompiledQuery | undefined;
  /** The name of the table that persons are copied to. */
  copyId?: string | undefined;
}

/**
 * The layout of rows. lines: one column `line`, each a JSON object; columns: as in the model; texts: untyped cells of a
 * table; harmless_texts: texts of which a spreadsheet reads none as a formula.
 */
export type FileLayout = "lines" | "columns" | "texts" | "harmless_texts";

export interface Selection {
  /** The SELECT after INSERT INTO. */
  select: ExportStatement;
  /** Its columns with ClickHouse types. */
  structure: string;
  /** The expression over these columns that identifies a row. */
  identity: string;
}

/** A statement that contains the text of another one, with the parameters of both. */
export function wrapStatement(
  { text, params }: ExportStatement,
  around: (text: string) => string,
  more: Record<string, unknown> = {},
): ExportStatement {
  return { text: around(text), params: { ...params, ...more } };
}

/** The days of the timestamps in the interval: FINAL has to read only these. */
export function selectDays(source: ExportSource): ExportStatement {
  // Persons are sorted by their ids, so every interval reads all of them.
  if (source.model === "persons") return { text: "SELECT toString(today()) AS day", params: {} };
  const { where, params } = intervalCondition(source);
  const day = "toString(toDate(timestamp)) AS day";
  return { text: `SELECT DISTINCT ${day} FROM event_rows WHERE ${where} ORDER BY day`, params };
}

/** All rows of the interval in a layout. `days`: the result of selectDays. */
export function toSelection(source: ExportSource, layout: FileLayout, days: readonly string[]): Selection {
  const { columns, compiled, model } = source;
  const from = fromText(source, days, true);
  const { params } = from;
  if (layout === "lines") {
    const members = columns.map(({ name, json }, i) => {
      return `${quoteText(`${i === 0 ? "{" : ","}${JSON.stringify(name)}:`)}, ${json}`;
    });
    return {
      select: { text: `SELECT concat(${members.join(", ")}, '}') AS line ${from.text}`, params },
      structure: "line String",
      // Our own lines begin with the uuid; hashing the engine's text of a long line costs more.
      identity: compiled || model === "persons" ? "cityHash64(line)" : "cityHash64(substring(line, 1, 48))",
    };
  }
  const isTyped = layout === "columns";
  const cellOf = layout === "texts" ? cell : harmlessCell;
  // Computed under names that no column has, so that an alias is not read as a column.
  const computed = columns.map((item, i) => `${isTyped ? item.sql : cellOf(item)} AS c${i}`);
  const names = columns.map(({ name }) => quoteName(name));
  const named = names.map((name, i) => `c${i} AS ${name}`);
  const declared = columns.map(({ type }, i) => `${names[i]} ${isTyped ? type : "String"}`);
  const identity = compiled || model === "persons" ? names : names.slice(0, 1);
  return {
    select: { text: `SELECT ${named.join(", ")} FROM (SELECT ${computed.join(", ")} ${from.text})`, params },
    structure: declared.join(", "),
    identity: `ifNull(cityHash64(${identity.map((name) => `toString(${name})`).join(", ")}), 0)`,
  };
}

/** Events in the order of their table's key, which is a total one: the engine reads them in it. */
export function inOrder(select: ExportStatement): ExportStatement {
  const key = "toDate(timestamp), event, cityHash64(distinct_id), uuid";
  return wrapStatement(select, (rows) => `${rows} ORDER BY ${key}`);
}

/** The columns of a source, in its order, with the engine's types. */
export function describeRows(source: ExportSource, days: readonly string[]): ExportStatement {
  const { select } = toSelection(source, "columns", days);
  return wrapStatement(select, (rows) => `DESCRIBE TABLE (${rows})`);
}

export function countExported(source: ExportSource, days: readonly string[]): ExportStatement {
  const { text, params } = fromText({ ...source, columns: [] }, days);
  return { text: `SELECT count() AS rows ${text}`, params };
}

/** The number of rows, and their approximate bytes in the layout. */
export function countBytes({ select }: Selection): ExportStatement {
  return wrapStatement(select, (rows) => `SELECT count() AS rows, sum(byteSize(*)) AS bytes FROM (${rows})`);
}

export function sampleStatement({ select }: Selection, rows: number): ExportStatement {
  const text = (all: string) =>
    `SELECT toJSONString(tuple(*)) AS row FROM (${all} LIMIT {sample_rows:UInt64})`;
  return wrapStatement(select, text, { sample_rows: rows });
}

/** Selects which of `files` files have rows, and how many. */
export function selectFiles({ select, identity }: Selection, files: number): ExportStatement {
  const file = `${identity} % {files:UInt64} AS file`;
  const text = (rows: string) => `SELECT ${file}, count() AS rows FROM (${rows}) GROUP BY file ORDER BY file`;
  return wrapStatement(select, text, { files });
}

export function selectFile({ select, identity }: Selection, files: number, file: string): ExportStatement {
  const where = `${identity} % {files:UInt64} = {file:UInt64}`;
  return wrapStatement(select, (rows) => `SELECT * FROM (${rows}) WHERE ${where}`, { files, file });
}

const copiedColumns =
  "project_id, team_id, distinct_id, person_id, properties, person_distinct_id_version, person_version, created_at, " +
  "_inserted_at, is_deleted";

export function copyStatement(source: ExportSource, copyId: string, tag: string): ExportStatement {
  const into = `INSERT INTO exported_person_rows (attempt, ${copiedColumns})`;
  const text = (rows: string) =>
    `${into} SELECT {copyId:UUID}, ${copiedColumns} FROM ${rows} ${tagClause(tag)}`;
  return wrapStatement(personRows({ ...source, copyId: undefined }), text, { copyId });
}

export function dropCopy(copyId: string, { local }: Tables): ExportStatement {
  return {
    text: `ALTER TABLE ${local("exported_person_rows")} DROP PARTITION {copyId:UUID}`,
    params: { copyId },
  };
}

/** Kills all statements with this tag, of any process. */
export function killStatement(tag: string, { onAll }: Tables): ExportStatement {
  const text = `KILL QUERY${onAll} WHERE Settings['log_comment'] = {tag:String} ASYNC FORMAT Null`;
  return { text, params: { tag } };
}

/** ClickHouse keeps a statement's settings as they were sent, but not its text. */
export function tagClause(tag: string): string {
  if (!/^[\w -]+$/.test(tag)) throw new Error("a tag is letters, digits, blanks and dashes");
  return `SETTINGS log_comment = '${tag}'`;
}

/**
 * The first of a project's moments, in ms since 1970, rounded down; undefined without rows. Events dated before 2000 do
 * not count: they are a client's broken clock.
 */
export async function readFirstMoment(
  clickhouse: ClickHouse,
  project_id: number,
  moment: ExportSource["moment"],
): Promise<number | undefined> {
  const [rows, column] =
    moment === "_inserted_at" ? ["person_distinct_ids", "changed_at"] : ["event_rows", moment];
  const text = `
    SELECT toString(toUnixTimestamp64Milli(min(${column}))) AS first FROM ${rows}
    WHERE project_id = {project_id:UInt32} AND ${column} >= toDateTime64('2000-01-01 00:00:00', 6, 'UTC')
    HAVING count() > 0`;
  const options = { settings: { max_threads: 1 }, kind: "export" } as const;
  const [found] = await clickhouse.query<{ first: string }>(text, { project_id }, options);
  return found && Number(found.first);
}

export function chooseMoment(model: ExportSource["model"], by_timestamp: boolean): ExportSource["moment"] {
  if (model === "persons") return "_inserted_at";
  return by_timestamp ? "timestamp" : "created_at";
}

function cell({ sql, type }: ExportColumn): string {
  if (isMoment(type)) return `ifNull(concat(${isoSql(sql)}), '')`;
  return type === "String" ? `ifNull(${sql}, '')` : `ifNull(toString(${sql}), '')`;
}

/** Characters with which spreadsheets begin a formula, in both widths, and those that they skip before it. */
const formulaStarts = "['=', '+', '-', '@', '＝', '＋', '－', '＠', '\\t', '\\r', '\\n']";

/** Puts an apostrophe before what may be a formula, also before a negative number. */
function harmlessCell(column: ExportColumn): string {
  const text = cell(column);
  return `concat(if(has(${formulaStarts}, substringUTF8(${text}, 1, 1)), '\\'', ''), ${text})`;
}

function fromText(source: ExportSource, days: readonly string[], persons = false): ExportStatement {
  const { compiled, model, columns } = source;
  const hasPersons = persons && columns.some(({ name }) => name === personProperties) && !compiled;
  const events = () => (hasPersons ? eventsWithPersons : eventRows)(source, days);
  const rows = model === "persons" ? personRows(source) : events();
  const params = { ...rows.params, ...compiled?.params };
  if (!compiled && model === "events") return { text: `FROM ${rows.text}`, params };
  // A subquery, so that no alias of the owner can replace the column that limits the project.
  const where = compiled?.where_sql === undefined ? "" : ` WHERE ${compiled.where_sql}`;
  return { text: `FROM (SELECT * FROM ${rows.text})${where}`, params };
}

/** Joins each event with the current properties of its person; only persons of these events are read. */
function eventsWithPersons(source: ExportSource, days: readonly string[]): ExportStatement {
  const { text, params } = eventRows(source, days);
  const { where } = intervalCondition(source);
  const main_ids =
    "SELECT if(m.main_id = '', e.distinct_id, m.main_id) FROM " +
    `(SELECT DISTINCT distinct_id FROM event_rows WHERE ${where} AND toDate(timestamp) IN {days:Array(Date)}) AS e ` +
    "LEFT ANY JOIN (SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = {project_id:UInt32}) AS m " +
    "ON e.distinct_id = m.distinct_id";
  const personTexts =
    `SELECT person_id, properties AS ${personProperties} FROM person_texts ` +
    `WHERE project_id = {project_id:UInt32} AND main_id IN (${main_ids})`;
  return {
    text: `(SELECT * FROM (SELECT * FROM ${text}) AS e LEFT ANY JOIN (${personTexts}) AS p USING (person_id))`,
    params,
  };
}

function eventRows(source: ExportSource, days: readonly string[]): ExportStatement {
  const { include_events, exclude_events } = source.events;
  // Persons are joined only where a column or a condition may need them: the join is half the cost of a count, and
  // keeps the engine from reading in the order of the key.
  const isJoined =
    source.compiled !== undefined ||
    source.conditions.length > 0 ||
    source.columns.some(({ name }) => name === "person_id" || name === personProperties);
  const view = isJoined ? "events" : "stored_events";
  const { where, params } = intervalCondition(source);
  const clauses = [where, "toDate(timestamp) IN {days:Array(Date)}"];
  if (include_events.length > 0) clauses.push("event IN {include_events:Array(String)}");
  if (exclude_events.length > 0) clauses.push("event NOT IN {exclude_events:Array(String)}");
  const named = { days, include_events, exclude_events };
  return filteredRows(view, clauses, { ...params, ...named }, source.conditions);
}

/**
 * Each id of the persons whose last change arrived in the interval, with their current properties, or those when they
 * were copied.
 */
function personRows(source: ExportSource): ExportStatement {
  const { copyId, project_id } = source;
  if (copyId !== undefined) {
    const text = "exported_person_rows WHERE attempt = {copyId:UUID} AND project_id = {project_id:UInt32}";
    return { text, params: { copyId, project_id } };
  }
  const { where, params } = intervalCondition(source);
  const { exported, compiled } = source;
  const isShown = !compiled || JSON.stringify(compiled).includes("is_deleted");
  const conditions = source.conditions.map((item) =>
    wrapStatement(item, (text) => `is_deleted OR (${text})`),
  );
  const deleted =
    exported && isShown
      ? "(NOT is_deleted OR (toUnixTimestamp64Milli(arrived) < {exported_until:Int64} " +
        "AND toUnixTimestamp64Milli(changed) >= {exported_from:Int64}))"
      : "NOT is_deleted";
  const covered = exported && isShown && { exported_from: exported.from, exported_until: exported.until };
  return filteredRows("exported_persons", [where, deleted], { ...params, ...covered }, conditions);
}

function filteredRows(
  rows: string,
  clauses: string[],
  params: Record<string, unknown>,
  conditions: readonly ExportStatement[],
): ExportStatement {
  const all = [...clauses, ...conditions.map(({ text }) => `(${text})`)];
  const merged = conditions.reduce((found, condition) => ({ ...found, ...condition.params }), params);
  return { text: `${rows} WHERE ${all.join(" AND ")}`, params: merged };
}

/** The project and the half-open interval. */
function intervalCondition({ project_id, interval: { start, end }, moment }: ExportSource) {
  const since = start === null ? "" : ` AND ${moment} >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
  const until = `${moment} < fromUnixTimestamp64Milli({until:Int64}, 'UTC')`;
  const params = { project_id, until: end, ...(start !== null && { since: start }) };
  return { where: `project_id = {project_id:UInt32}${since} AND ${until}`, params };
}
