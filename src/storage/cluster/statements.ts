// Statements of a running server as a cluster needs them. Those that no rule concerns stay as they are: they name
// Distributed tables, or tables that every server has.

import { quoteName, quoteText, tokensOf } from "../clickhouse/statement.ts";
import { onAll } from "./definitions.ts";
import { closing, type Edit, edited, insertedAt, isWord, namesOf, plainName, type Token } from "./edits.ts";
import { type Cluster, isJoinedFromShards, localEnding, localName } from "./placement.ts";

type Params = Record<string, unknown> | undefined;

/** A statement that changes something: deletions and changes of tables reach all shards. */
export function commandOnCluster(statement: string, params: Params, cluster: Cluster): string {
  const named = withNames(statement, params);
  const tokens = [...tokensOf(named)];
  const [first, second] = tokens;
  if (isWord(first, "DELETE") && isWord(second, "FROM")) return moved(named, tokens, cluster);
  if (isWord(first, ...ofTables) && isWord(second, "TABLE")) return moved(named, tokens, cluster);
  if (isWord(first, "KILL") && second) return edited(named, [insertedAt(second.end, onAll(cluster))]);
  return readOnCluster(named, cluster);
}

const ofTables = ["ALTER", "ATTACH", "DETACH", "OPTIMIZE", "TRUNCATE"];

/** A name that is a parameter decides what becomes of the statement, so it is put into the text. */
function withNames(statement: string, params: Params): string {
  return statement.replaceAll(/\{(\w+):Identifier\}/g, (place, name: string) => {
    const value = params?.[name];
    return typeof value === "string" ? quoteName(value) : place;
  });
}

function moved(statement: string, [, , name, following]: Token[], cluster: Cluster): string {
  // A definition that was made for all servers before.
  if (!name || isWord(following, "ON")) return statement;
  return edited(statement, [{ ...name, text: `${localName(plainName(name))}${onAll(cluster)}` }]);
}

/**
 * A statement that reads. System tables are those of all servers that hold the rows. A list that is joined from several
 * shards is made once, and sent to them.
 */
export function readOnCluster(statement: string, cluster: Cluster): string {
  if (!/\bsystem\s*\.|\bIN\b/i.test(statement)) return statement;
  const tokens = [...tokensOf(statement)];
  return edited(statement, [...systemTables(tokens, cluster), ...globalLists(tokens)]);
}

/** System tables as statements of ours expect them: with the names of tables that they know. */
function systemTables(tokens: Token[], { name }: Cluster): Edit[] {
  const all = quoteText(name);
  const table = `* REPLACE (replaceRegexpOne(table, '${localEnding}$', '') AS table)`;
  const seen: Record<string, string> = {
    parts: `(SELECT ${table} FROM cluster(${all}, system.parts))`,
    mutations: `(SELECT ${table} FROM clusterAllReplicas(${all}, system.mutations))`,
    processes: `clusterAllReplicas(${all}, system.processes)`,
    // The fullest server bounds what can be rewritten.
    disks: `(SELECT min(free) AS free_space FROM (SELECT hostName() AS host, max(free_space) AS free
      FROM clusterAllReplicas(${all}, system.disks) GROUP BY host))`,
  };
  return tokens.flatMap((token, i) => {
    const one = tokens[i + 2];
    const isSystem =
      isWord(token, "SYSTEM") && tokens[i + 1]?.text === "." && isWord(tokens[i - 1], "FROM", "JOIN");
    const text = isSystem && one ? seen[one.text] : undefined;
    return text === undefined ? [] : [{ start: token.start, end: one!.end, text }];
  });
}

/** `IN (SELECT … FROM persons …)` becomes GLOBAL: without that, each shard would ask all shards. */
function globalLists(tokens: Token[]): Edit[] {
  return tokens.flatMap((token, i) => {
    if (!isWord(token, "IN") || tokens[i + 1]?.text !== "(" || !isWord(tokens[i + 2], "SELECT")) return [];
    const inside = tokens.slice(i + 2, closing(tokens, i + 1));
    if (!namesOf(inside, "FROM", "JOIN").some((name) => isJoinedFromShards(plainName(name)))) return [];
    const negated = tokens[i - 1];
    return [insertedAt((isWord(negated, "NOT") ? negated! : token).start, "GLOBAL ")];
  });
}

export interface ListedDeletion {
  /** The SELECT of `listed`, the values of the list that rows to be deleted have: `listed_rows` of them at most. */
  select: string;
  /** The deletion of rows with these values, which are the parameter `listedValues`. */
  withValues: string;
}

/** The name of the parameter with the values, as `listedText` writes them. */
export const listedValues = "listed_values";

/**
 * Values as one text, parted by NUL, which no text in a column holds. A list of 10,000 texts takes the engine three
 * times as long, since each step of a deletion parses all of it again.
 */
export function listedText(values: readonly string[]): string {
  if (values.some((value) => value.includes("\0"))) throw new Error("a value of a deletion holds NUL");
  // One value twice is the same list; alone, an empty one would be none.
  return [...values, values[0]].join("\0");
}

/**
 * A deletion whose rows are named by a SELECT, as two statements: replicas carry deletions out later, each by itself,
 * so that a deletion must hold plain values. They are looked for on all replicas, since one may have rows that the
 * others have not yet. undefined for any other statement.
 * @throws for a deletion with several such lists, or one of another form.
 */
export function listedDeletionOf(statement: string, cluster: Cluster): ListedDeletion | undefined {
  const tokens = [...tokensOf(statement)];
  const [first, , name, where] = tokens;
  if (!isWord(first, "DELETE")) return undefined;
  const lists = tokens.flatMap((token, i) =>
    isWord(token, "IN") && tokens[i + 1]?.text === "(" && isWord(tokens[i + 2], "SELECT") ? [i] : [],
  );
  const [at] = lists;
  if (at === undefined) return undefined;
  if (lists.length > 1) throw new Error("a deletion with two lists cannot be split");
  if (!name || !isWord(where, "WHERE")) throw new Error(`no rule for a cluster: ${statement.slice(0, 60)}`);
  const list = tokens[at]!;
  const before = tokens.findLastIndex(
    (token, i) => i < at && token.depth === list.depth && isWord(token, "WHERE", "AND", "OR", "NOT"),
  );
  if (isWord(tokens[before], "OR", "NOT") || isWord(tokens[at - 1], "NOT"))
    throw new Error("a deletion of rows that are not listed cannot be split");
  const value = statement.slice(tokens[before + 1]!.start, tokens[at - 1]!.end);
  const [shown, database, local] = [cluster.name, cluster.database, localName(plainName(name))].map(
    quoteText,
  );
  const rows = `clusterAllReplicas(${shown}, ${database}, ${local})`;
  const selected = edited(statement, [
    { start: first!.start, end: name.end, text: `SELECT DISTINCT ${value} AS listed FROM ${rows}` },
    insertedAt(list.start, "GLOBAL "),
  ]);
  const [from, to] = [tokens[at + 1]!, tokens[closing(tokens, at + 1)]!];
  return {
    select: `${selected} LIMIT {listed_rows:UInt64}`,
    withValues: edited(statement, [
      { start: from.start, end: to.end, text: `splitByChar('\\0', {${listedValues}:String})` },
    ]),
  };
}
