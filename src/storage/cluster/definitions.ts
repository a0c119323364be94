// Definitions of tables and views as a cluster needs them: what one machine makes once, each server makes, with
// replicated tables and Distributed ones in front. All statements can be repeated.

import { quoteText, tokensOf } from "../clickhouse/statement.ts";
import { behind, type Edit, edited, insertedAt, isWord, namesOf, plainName, type Token } from "./edits.ts";
import { type Cluster, isSharded, localName, tables, views } from "./placement.ts";

/**
 * The statements for a cluster, in order, that do what this one of sql/clickhouse does on one machine.
 * @throws for a statement or a table that has no rule here: a new table needs a line in placement.ts.
 */
export function onCluster(statement: string, cluster: Cluster): string[] {
  const tokens = [...tokensOf(statement)];
  const first = tokens[0]?.text.toUpperCase();
  if (first === "CREATE") return created(statement, tokens, cluster);
  if (first === "DROP") return dropped(statement, tokens, cluster);
  if (first === "ALTER") return altered(statement, tokens, cluster);
  if (first === "INSERT") return [statement];
  throw new Error(`no rule for a cluster: ${statement.slice(0, 60)}`);
}

function created(statement: string, tokens: Token[], cluster: Cluster): string[] {
  const table = behind(tokens, 0, "CREATE", "TABLE", "IF", "NOT", "EXISTS");
  if (table > 0) return createdTable(statement, tokens, table, cluster);
  const feeding = behind(tokens, 0, "CREATE", "MATERIALIZED", "VIEW", "IF", "NOT", "EXISTS");
  if (feeding > 0) return [feedingView(statement, tokens, feeding, cluster)];
  const view = behind(tokens, 0, "CREATE", "OR", "REPLACE", "VIEW");
  if (view > 0) return createdView(statement, tokens, view, cluster);
  throw new Error(`a definition that cannot be repeated: ${statement.slice(0, 60)}`);
}

function createdTable(statement: string, tokens: Token[], at: number, cluster: Cluster): string[] {
  const name = tokens[at]!;
  const placement = tables[name.text];
  if (!placement) throw new Error(`placement.ts does not say where rows of ${name.text} lie`);
  const edits = [renamed(name, cluster), ...replicatedEngine(tokens, name.text)];
  const own = edited(statement, edits);
  return placement.kind === "sharded"
    ? [own, distributed("CREATE TABLE IF NOT EXISTS", name.text, cluster)]
    : [own];
}

/** `t` becomes `t_local ON CLUSTER 'c'`, or keeps its name where it has no shards. */
function renamed(name: Token, cluster: Cluster): Edit {
  return { ...name, text: `${localName(plainName(name))}${onAll(cluster)}` };
}

export function onAll({ name }: Cluster): string {
  return ` ON CLUSTER ${quoteText(name)}`;
}

/**
 * The replicated engine of the same kind; none for Null. Rows of a sharded table are replicated within a shard, those
 * of the others among all servers, whose names are unique only together with their shard's.
 */
function replicatedEngine(tokens: Token[], table: string): Edit[] {
  const at = tokens.findIndex(
    (token, i) => token.depth === 0 && isWord(token, "ENGINE") && tokens[i + 1]?.text === "=",
  );
  const engine = tokens[at + 2];
  if (at < 0 || !engine) throw new Error(`${table} names no engine`);
  if (engine.text === "Null") return [];
  if (!engine.text.endsWith("MergeTree")) throw new Error(`no replicated engine for ${engine.text}`);
  const [shard, replica] =
    tables[table]?.kind === "sharded" ? ["{shard}", "{replica}"] : ["everywhere", "{shard}-{replica}"];
  const place = `'/clickhouse/tables/${shard}/{database}/${table}', '${replica}'`;
  const open = tokens[at + 3];
  const renamedEngine = { start: engine.start, end: engine.end, text: `Replicated${engine.text}` };
  if (open?.text !== "(" || open.start !== engine.end) {
    return [{ ...renamedEngine, text: `${renamedEngine.text}(${place})` }];
  }
  const more = tokens[at + 4]?.text === ")" ? "" : ", ";
  return [renamedEngine, insertedAt(open.end, `${place}${more}`)];
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
 * A view that feeds a table. What it makes of rows of a shard belongs to the same shard; what it makes of rows that are
 * everywhere, or that came to this server, belongs to any.
 */
function feedingView(statement: string, tokens: Token[], at: number, cluster: Cluster): string {
  const name = tokens[at]!;
  const target = tokens[at + 2];
  if (!isWord(tokens[at + 1], "TO") || !target) throw new Error(`${name.text} does not name its target`);
  return edited(statement, [insertedAt(name.end, onAll(cluster)), ...withinShard(tokens, [target])]);
}

/** The edits that make a view over tables of shards read and write those of one shard only. */
function withinShard(tokens: Token[], targets: Token[]): Edit[] {
  const sources = namesOf(tokens, "FROM", "JOIN").filter((token) => isKnown(plainName(token)));
  const sharded = sources.filter((token) => isSharded(plainName(token)));
  if (sharded.length === 0) return [];
  return [...sharded, ...targets].map((token) => ({ ...token, text: localName(plainName(token)) }));
}

function isKnown(name: string): boolean {
  if (name in tables || name in views) return true;
  throw new Error(`placement.ts does not know ${name}`);
}

function createdView(statement: string, tokens: Token[], at: number, cluster: Cluster): string[] {
  const name = tokens[at]!;
  const kind = views[name.text];
  if (!kind) throw new Error(`placement.ts does not say where the view ${name.text} is read`);
  const edits = [renamed(name, cluster), ...(kind === "shard" ? withinShard(tokens, []) : [])];
  const own = edited(statement, edits);
  if (kind === "server") return [own];
  return [own, distributed("CREATE OR REPLACE TABLE", name.text, cluster)];
}

function dropped(statement: string, tokens: Token[], cluster: Cluster): string[] {
  const kinds = ["TABLE", "VIEW"].map((kind) => behind(tokens, 0, "DROP", kind, "IF", "EXISTS"));
  const name = tokens[Math.max(...kinds)];
  if (!name) throw new Error(`a definition that cannot be repeated: ${statement.slice(0, 60)}`);
  const own = edited(statement, [renamed(name, cluster)]);
  if (!isSharded(name.text)) return [own];
  return [`DROP TABLE IF EXISTS ${name.text}${onAll(cluster)} SYNC`, own];
}

/** A change of a table is one of its shards' tables, and a new Distributed one with the columns they have then. */
function altered(statement: string, tokens: Token[], cluster: Cluster): string[] {
  const name = tokens[2];
  if (!isWord(tokens[1], "TABLE") || !name)
    throw new Error(`no rule for a cluster: ${statement.slice(0, 60)}`);
  const query = tokens.findIndex((_, i) => behind(tokens, i, "MODIFY", "QUERY") > 0);
  if (query > 0)
    return [edited(statement, [insertedAt(name.end, onAll(cluster)), ...withinShard(tokens, [])])];
  const own = edited(statement, [renamed(name, cluster)]);
  return isSharded(name.text) ? [own, distributed("CREATE OR REPLACE TABLE", name.text, cluster)] : [own];
}
