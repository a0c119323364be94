// One use of a table: the columns that the query reads of it, and finally the subquery that provides them. The subquery
// is limited to the project, and joins the other tables that are named.

import {
  compilePropertyFilters,
  eventPropertyText,
  haveTypes,
  propertyText,
  readsPersons,
} from "../../../storage/events/property_filter.ts";
import { findRefusal } from "../../../storage/events/session_property.ts";
import type { FieldNode, Placed } from "../tree.ts";
import { condition } from "./compare.ts";
import { constantSql, nowSql, type SqlDraft, SqlScope, type TableLike, textAs } from "./draft.ts";
import type { LazyJoin, SqlTable, TableColumn } from "./lists/table.ts";
import { sqlTables } from "./lists/tables.ts";
import { type PathKey, quotedName, refuse, type Sql, SqlProblem, suggestion } from "./value.ts";

const types = { Numeric: "number", Boolean: "boolean", DateTime: "datetime", String: "string" } as const;

interface ReadOptions {
  /** Whether the columns are read directly instead of through a subquery. */
  isInline?: boolean;
  /** Source columns that the subquery exposes under their own names, for statements that name them without a prefix. */
  exposed?: readonly string[];
}

export class TableRead implements TableLike {
  readonly alias: string;
  readonly isFiltered: boolean;
  readonly #table: SqlTable;
  readonly #draft: SqlDraft;
  readonly #isInline: boolean;
  readonly #exposed: readonly string[];
  /** Precedes the names of columns. */
  readonly #prefix: string;
  #source: string;
  /** SQL over the source → the column of the subquery. */
  readonly #columns = new Map<string, string>();
  readonly #joined = new Map<
    string,
    Pick<LazyJoin, "left" | "right" | "rows"> & { read: TableRead; where: string | undefined }
  >();

  constructor(draft: SqlDraft, table: SqlTable, { isInline = false, exposed = [] }: ReadOptions = {}) {
    this.#isInline = isInline;
    this.#exposed = exposed;
    this.#table = table;
    this.alias = draft.fresh("t");
    const { columns, owner } = table;
    this.isFiltered = Boolean(columns["timestamp"] ?? columns["$start_timestamp"]) || owner === "person";
    this.#prefix = exposed.length > 0 ? "" : `${this.alias}.`;
    this.#draft = draft;
    this.#source = table.source;
    if (table.scope !== undefined) draft.scopes.add(table.scope);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#table.columns, name) || Object.hasOwn(this.#table.joins ?? {}, name);
  }

  hasGroup(name: string): boolean {
    return !this.has(name) && this.#findJoin(name) !== undefined;
  }

  /** The join of that name; of an event's group, the name of its type, which senders choose: columns come first. */
  #findJoin(name: string): LazyJoin | undefined {
    const { columns, joins = {} } = this.#table;
    if (Object.hasOwn(joins, name)) return joins[name];
    const { groupTypes = {} } = this.#draft.context;
    const isType = Object.hasOwn(groupTypes, name) && !Object.hasOwn(columns, name);
    return isType ? joins[`group_${groupTypes[name]!}`] : undefined;
  }

  names(): string[] {
    return [...Object.keys(this.#table.columns), ...Object.keys(this.#table.joins ?? {})];
  }

  star(): readonly string[] {
    return this.#table.star;
  }

  field(path: readonly PathKey[], at: FieldNode): Sql {
    const [name = "", ...named] = path.map((pathKey, i) => (i === 0 ? String(pathKey) : pathKey));
    const join = this.#findJoin(String(name));
    const keys = join?.by !== undefined && named.length > 0 ? [join.by, ...named] : named;
    if (join && keys.length > 0) {
      const { read } = this.#joinFor(String(name), join, keys);
      const column = read.field(keys, at);
      return { type: column.type, nullable: true, ...this.#through(column) };
    }
    const column = Object.hasOwn(this.#table.columns, name) ? this.#table.columns[name] : undefined;
    if (!column) {
      const hint = suggestion(String(name), this.names());
      return refuse(`There is no ${quotedName(String(name))} in this table.${hint}`, at);
    }
    if (keys.length === 0) return this.#columnSql(column);
    if (column.type !== "json") refuse(`${quotedName(String(name))} has no members.`, at);
    return this.#property(column, keys, at);
  }

  filters(at: Placed): Sql {
    const { filters, timezone, now } = this.#draft.context;
    const moment = this.#table.columns["timestamp"] ?? this.#table.columns["$start_timestamp"];
    const isPerson = this.#table.owner === "person";
    if (!moment && (!isPerson || filters?.from || filters?.to))
      refuse("{filters} needs the table events or sessions.", at);
    const raw = this.#table.columns["timestamp"] ? "timestamp" : "start_time";
    const parts = ["1"];
    const bound = (sign: string, value: string | undefined): void => {
      if (value === undefined) return;
      parts.push(`${raw} ${sign} toDateTime64(${this.#draft.bind("String", value)}, 6, 'UTC')`);
    };
    bound(">=", filters?.from);
    bound("<", filters?.to);
    // A range without an end ends now: events may be of a later time.
    if (filters?.from !== undefined && filters.to === undefined) parts.push(`${raw} <= ${nowSql}`);
    const conditions = [this.#read(`(${parts.join(" AND ")})`)];
    const properties = filters?.properties ?? [];
    if (properties.length > 0) {
      const isSession = this.#table.source === "sessions";
      if (isSession && !haveTypes(properties, ["session", "person"]))
        refuse("Sessions are filtered by properties of sessions and persons only.", at);
      if (this.#table.owner !== "event" && !isPerson && !isSession)
        refuse("Filters on properties need the table events.", at);
      if (!isPerson && !isSession && readsPersons(properties)) this.#source = "events";
      const prefix = `${this.#draft.fresh("f")}_`;
      conditions.push(
        compilePropertyFilters(properties, this.#draft.params, prefix, {
          ...(isPerson && { rows: "persons" as const }),
          ...(isSession && { rows: "sessions" as const }),
          now,
          timezone,
          read: (name) => this.#read(name),
          expression: (text) => this.#filterSql(text),
        }),
      );
    }
    return { sql: `(${conditions.join(" AND ")})`, type: "boolean", nullable: false };
  }

  /** A filter in SQL, whose names belong to this table. */
  #filterSql(text: string): string {
    const scope = new SqlScope(this.#draft);
    const name = this.#table.owner === "person" ? "persons" : "events";
    scope.tables.push({ name, read: this, using: [] });
    const { tree, attr } = this.#draft.context.filterTrees!.get(text)!;
    try {
      return `ifNull(${condition(scope.expression(tree))}, 0)`;
    } catch (thrown) {
      if (thrown instanceof SqlProblem) thrown.filter = { text, attr };
      throw thrown;
    }
  }

  /** Names of the columns that expressions read of the subquery. */
  readNames(): string[] {
    return [...this.#columns.values(), ...this.#passed.keys()];
  }

  /** The subquery with `person_id` under its own name. */
  personsSubquery(): string {
    const before = this.#source;
    this.#source = "events";
    const text = this.subquery(["person_id"]);
    this.#source = before;
    return text;
  }

  /**
   * The condition on sessions that belong to the events read: a join with all sessions of a project would be too large.
   */
  readonly #sessionLimits = new Set<string>();

  subquery(more: readonly string[] = []): string {
    const project = "project_id = {project_id:UInt32}";
    if (this.#joined.size === 0)
      return `(SELECT ${this.#listed(more)} FROM ${this.#source} WHERE ${project})`;
    const base = this.#draft.fresh("t");
    const joins = [...this.#joined.values()].map(({ read, left, right, where, rows }) => {
      const limits = read.#source === "sessions" ? [...this.#sessionLimits].join("") : "";
      const condition = `${project}${limits}${where ? ` AND ${where}` : ""}`;
      const source = `SELECT ${read.#listed()} FROM ${read.#source} WHERE ${condition}`;
      const inner = read.#joined.size > 0 ? read.subquery().slice(1, -1) : source;
      const join = read.#joinsMany || rows === "many" ? "LEFT JOIN" : "LEFT ANY JOIN";
      return ` ${join} (${inner}) AS ${read.alias} ON ${base}.${left} = ${read.alias}.${right}`;
    });
    const ownColumns = [...this.#exposed, ...more, ...this.#columns.values()].map(
      (name) => `${base}.${name} AS ${name}`,
    );
    const joinedColumns = [...this.#passed].map(([name, sql]) => `${sql} AS ${name}`);
    const inner = `(SELECT ${this.#listed(more)} FROM ${this.#source} WHERE ${project}) AS ${base}`;
    return `(SELECT ${[...ownColumns, ...joinedColumns].join(", ")} FROM ${inner}${joins.join("")})`;
  }

  /** Whether a row of the table may become several by what is joined to it. */
  get #joinsMany(): boolean {
    return [...this.#joined.values()].some(({ read, rows }) => rows === "many" || read.#joinsMany);
  }

  /** Columns of joined tables by their names in the subquery. */
  readonly #passed = new Map<string, string>();

  #listed(more: readonly string[] = []): string {
    const columns = [...this.#columns].map(([sql, name]) => `${sql} AS ${name}`);
    const listed = [...this.#exposed, ...more, ...columns];
    return listed.length > 0 ? listed.join(", ") : "1 AS one";
  }

  /** The join that provides `keys` of the other table: a property has its own join, which reads no other. */
  #joinFor(name: string, join: LazyJoin, [column, key]: readonly PathKey[]) {
    if (column === "properties" && key !== undefined && join.propertySource !== undefined) {
      const where = `key = ${this.#draft.bind("String", String(key))}`;
      return this.#join(JSON.stringify([name, key]), { ...join, where }, join.propertySource);
    }
    const found = this.#join(name, join, join.propertiesSource);
    if (column !== "properties") found.read.#source = found.read.#table.source;
    return found;
  }

  #join(name: string, { table, left, right, where, rows }: LazyJoin, source: string | undefined) {
    let found = this.#joined.get(name);
    if (!found) {
      const read = new TableRead(this.#draft, sqlTables[table]!);
      read.#source = source ?? read.#source;
      const leftName = this.#findName(this.#table.columns[left]!);
      found = { read, left: leftName, right: read.#findName(read.#table.columns[right]!), where, rows };
      this.#joined.set(name, found);
    }
    return found;
  }

  /** The joined table's columns, as columns of this table's subquery. */
  #through(found: Sql): Pick<Sql, "sql" | "text"> {
    const passed = (sql: string): string => {
      for (const [name, known] of this.#passed) if (known === sql) return `${this.#prefix}${name}`;
      const name = this.#draft.fresh("v");
      this.#passed.set(name, sql);
      return `${this.#prefix}${name}`;
    };
    if (found.text === undefined) return { sql: passed(found.sql) };
    const text = passed(found.text);
    return { sql: textAs(text, found.type), text };
  }

  #findName(column: TableColumn): string {
    this.#columnSql(column);
    return this.#columns.get(column.sql)!;
  }

  #columnSql({ sql, type, nullable, source }: TableColumn): Sql {
    if (source !== undefined) this.#source = source;
    const raw = /^toTimeZone\((\w+), \{tz:String\}\)$/.exec(sql)?.[1];
    const column = { sql: this.#read(sql), type, nullable: nullable ?? false };
    if (raw === undefined) return column;
    const limit = (sign: string, bound: string): void => {
      if (raw !== "timestamp") return;
      if (!sign.startsWith("<"))
        this.#sessionLimits.add(` AND end_time ${sign === "=" ? ">=" : sign} ${bound}`);
      if (!sign.startsWith(">"))
        this.#sessionLimits.add(` AND start_time ${sign === "=" ? "<=" : sign} ${bound}`);
    };
    return { ...column, floor: { raw: () => this.#read(raw), days: 0, limit } };
  }

  #read(sql: string): string {
    if (this.#isInline) return sql;
    let name = this.#columns.get(sql);
    if (name === undefined) this.#columns.set(sql, (name = this.#draft.fresh("v")));
    return `${this.#prefix}${name}`;
  }

  readonly #properties = new Map<string, string>();

  #property(column: TableColumn, keys: readonly PathKey[], at: FieldNode): Sql {
    const place = JSON.stringify([column.sql, keys]);
    let text = this.#properties.get(place);
    if (text === undefined) {
      const path = keys.map((key) => constantSql(this.#draft, key).sql).join(", ");
      const isOfEvent = this.#table.owner === "event" && keys.length === 1 && typeof keys[0] === "string";
      const name = String(keys[0]);
      const isStored = column.sql === "properties" && this.#table.owner !== "group";
      const refusal = isStored ? findRefusal(name) : undefined;
      if (refusal) refuse(refusal, at);
      if (this.#table.owner === "person") this.#draft.personKeys.set(name, at);
      const known = isOfEvent ? eventPropertyText(name, path) : propertyText(path);
      const source =
        column.sql === "properties" ? known : `JSONExtract(${column.sql}, ${path}, 'Nullable(String)')`;
      this.#properties.set(place, (text = this.#read(source)));
    }
    const { owner } = this.#table;
    const knownType =
      owner && keys.length === 1 ? this.#draft.context.propertyType?.(owner, String(keys[0])) : undefined;
    const type = knownType ? types[knownType] : "string";
    return { sql: textAs(text, type), type, nullable: true, text };
  }
}
