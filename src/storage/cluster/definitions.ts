// Definitions of tables and views on a cluster: each server creates them, as replicated tables with Distributed ones in
// front. All statements can be repeated.

import { type Cluster, quoteText } from "../clickhouse/statement.ts";
import { isSharded, localName, onAll, tables, views } from "./placement.ts";

/** A statement, split at the name that it defines. */
interface Definition {
  before: string;
  name: string;
  after: string;
}

/** Keyed by the words that a statement of sql/clickhouse begins with, each of which can be repeated. */
const rules: Readonly<Record<string, (definition: Definition, cluster: Cluster) => string[]>> = {
  "CREATE TABLE IF NOT EXISTS": createTable,
  "CREATE MATERIALIZED VIEW IF NOT EXISTS": createFeedingView,
  "CREATE OR REPLACE VIEW": createView,
  "DROP TABLE IF EXISTS": drop,
  "ALTER TABLE": alter,
  "INSERT INTO": ({ before, name, after }) => [`${before}${name}${after}`],
};

/** Words and the name, after comments. */
const beginning = /^ *((?:CREATE|DROP|ALTER|INSERT)[A-Z ]*) ([a-z_]+)\b/m;

/**
 * The statements for a cluster, in order, that do what this one of sql/clickhouse does on one machine.
 * @throws for a statement or a table that has no rule here: a new table needs a line in placement.ts.
 */
export function onCluster(statement: string, cluster: Cluster): string[] {
  const found = beginning.exec(statement);
  const [, words = "", name = ""] = found ?? [];
  const rule = rules[words];
  if (!found || !rule) throw new Error(`no rule for a cluster, or not repeatable: ${statement.slice(0, 60)}`);
  const after = found.index + found[0].length;
  return rule(
    { before: statement.slice(0, after - name.length), name, after: statement.slice(after) },
    cluster,
  );
}

function createTable(definition: Definition, cluster: Cluster): string[] {
  const { name, after } = definition;
  const placement = tables[name];
  if (!placement) throw new Error(`placement.ts does not say where rows of ${name} lie`);
  const local = renamed({ ...definition, after: replicated(name, after) }, cluster);
  return placement.kind === "sharded"
    ? [local, distributed("CREATE TABLE IF NOT EXISTS", name, cluster)]
    : [local];
}

/** `t` becomes `t_local ON CLUSTER 'c'`, or keeps its name where it has no shards. */
function renamed({ before, name, after }: Definition, cluster: Cluster): string {
  return `${before}${localName(name)}${onAll(cluster)}${after}`;
}

/**
 * The replicated engine of the same kind; none for Null. Rows of a sharded table are replicated within a shard, those
 * of the others among all servers, whose names are unique only together with their shard's.
 */
function replicated(table: string, text: string): string {
  const [shard, replica] =
    tables[table]?.kind === "sharded" ? ["{shard}", "{replica}"] : ["everywhere", "{shard}-{replica}"];
  const pathAndReplica = `'/clickhouse/tables/${shard}/{database}/${table}', '${replica}'`;
  return text.replace(
    /(\bENGINE = )(\w+)(\()?(\))?/,
    (found, key: string, engine: string, open = "", end = "") => {
      if (engine === "Null") return found;
      if (!engine.endsWith("MergeTree")) throw new Error(`no replicated engine for ${engine}`);
      return `${key}Replicated${engine}(${pathAndReplica}${open === "" || end !== "" ? ")" : ", "}`;
    },
  );
}

/** The table that a cluster's statements name, over those of the shards. */
function distributed(verb: string, table: string, cluster: Cluster): string {
  const placement = tables[table];
  const by = placement?.kind === "sharded" ? `, ${placement.by}` : "";
  const [name, database, local] = [cluster.name, cluster.database, localName(table)].map(quoteText);
  const engine = `Distributed(${name}, ${database}, ${local}${by})`;
  return `${verb} ${table}${onAll(cluster)} AS ${localName(table)} ENGINE = ${engine}`;
}

/**
 * A view that feeds a table. What it derives from rows of a shard belongs to the same shard; what it derives from rows
 * that are everywhere, or that came to this server, belongs to any.
 */
function createFeedingView({ before, name, after }: Definition, cluster: Cluster): string[] {
  const local = withinShard(after);
  const written =
    local === after ? local : local.replace(/^ TO (\w+)/, (_, table: string) => ` TO ${localName(table)}`);
  return [`${before}${name}${onAll(cluster)}${written}`];
}

/** A SELECT that reads the tables of one shard only. ARRAY JOIN names columns. */
function withinShard(select: string): string {
  return select.replaceAll(
    /\b(FROM|(?<!ARRAY )JOIN)(\s+)(\w+)/g,
    (_, word: string, gap: string, name: string) => {
      if (!(name in tables || name in views)) throw new Error(`placement.ts does not know ${name}`);
      return `${word}${gap}${localName(name)}`;
    },
  );
}

function createView(definition: Definition, cluster: Cluster): string[] {
  const { name, after } = definition;
  const kind = views[name];
  if (!kind) throw new Error(`placement.ts does not say where the view ${name} is read`);
  if (kind === "server") return [renamed(definition, cluster)];
  const local = renamed({ ...definition, after: withinShard(after) }, cluster);
  return [local, distributed("CREATE OR REPLACE TABLE", name, cluster)];
}

function drop(definition: Definition, cluster: Cluster): string[] {
  const { name } = definition;
  const local = renamed(definition, cluster);
  return isSharded(name) ? [`DROP TABLE IF EXISTS ${name}${onAll(cluster)} SYNC`, local] : [local];
}

/** A change of a table changes the shards' tables, and replaces the Distributed one with their new columns. */
function alter(definition: Definition, cluster: Cluster): string[] {
  const { before, name, after } = definition;
  if (/^ MODIFY QUERY\b/.test(after)) return [`${before}${name}${onAll(cluster)}${withinShard(after)}`];
  const local = renamed(definition, cluster);
  return isSharded(name) ? [local, distributed("CREATE OR REPLACE TABLE", name, cluster)] : [local];
}
