// A cluster of several shards for tests: each shard is an engine in a process of its own. The engine that is embedded
// cannot be queried by another one over ClickHouse's own protocol, so Distributed tables are played: a further engine,
// the one that clients speak to, has a view for each over the tables of the shards, read over HTTP, and a proxy before
// it divides the rows of an INSERT by the table's sharding expression. All other meaning is ClickHouse's.

import { readTokens } from "../../src/storage/clickhouse/statement.ts";
import { localEnding, localName, tables } from "../../src/storage/cluster/placement.ts";
import { clusterName, configureCluster, ownShard, withoutReplicas } from "./cluster.ts";
import { makeFolder } from "./folder.ts";
import { startProxy } from "./proxy.ts";
import { frontPassword, startFront, type TestFront } from "./stores.ts";

interface Shard {
  front: TestFront;
  /** Kills its process. */
  lose(): Promise<void>;
  /** Starts it again, on its rows and its port. */
  recover(): Promise<void>;
}

export interface Shards {
  /** As CLICKHOUSE_URL says it. */
  url: string;
  /** Where a SELECT is answered in Native. */
  nativeUrl: string;
  shards: Shard[];
  /** Loses the answers of so many of the next INSERTs of rows that were stored. */
  loseAnswers(times: number): void;
}

export async function startShards(count: number): Promise<Shards> {
  const folder = makeFolder();
  configureCluster(folder, { shards: ownShard.repeat(count) });
  const [asked, ...shards] = await Promise.all([
    startFront(folder),
    ...Array.from({ length: count }, (_, i) => startShard(String(i + 1))),
  ]);
  let lost = 0;
  const player = new Player(asked, shards);
  const url = startProxy(asked.url, async (request) => {
    const statement = await readStatement(request);
    const reply = await player.answer(statement).catch(failed);
    const isLost = statement.rows && reply.status === 200 && lost > 0;
    if (isLost) lost--;
    return isLost ? failed(new Error("the answer was lost")) : reply;
  });
  return { url, nativeUrl: asked.url, shards, loseAnswers: (times) => void (lost = times) };
}

async function startShard(number: string): Promise<Shard> {
  const folder = makeFolder();
  configureCluster(folder, { macros: { shard: number, replica: "a" } });
  const shard: Shard = {
    front: await startFront(folder),
    lose: () => shard.front.end("SIGKILL"),
    recover: async () => void (shard.front = await startFront(folder, shard.front.port)),
  };
  return shard;
}

function failed(thrown: unknown): Response {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  // The engine's own errors go on as they are, as from one server to another.
  if (reason.startsWith("Code: ")) return new Response(reason, { status: 500 });
  return new Response(`Code: 210. DB::NetException: ${reason}. (NETWORK_ERROR)`, { status: 500 });
}

interface Statement {
  text: string;
  search: URLSearchParams;
  headers: Headers;
  /** With the statement, unless that stands in the URL. */
  body: Buffer;
  /** Whether the body is rows. */
  rows: boolean;
}

async function readStatement(request: Request): Promise<Statement> {
  const search = new URL(request.url).searchParams;
  search.delete("prefer_localhost_replica");
  const headers = new Headers(request.headers);
  for (const name of ["content-length", "host", "accept-encoding"]) headers.delete(name);
  const body = Buffer.from(await request.arrayBuffer());
  const inUrl = search.get("query");
  return { text: inUrl ?? textIn(body), search, headers, body, rows: inUrl !== null };
}

/** The statement of a body, which is a form where parameters are too long for the URL. */
function textIn(body: Buffer): string {
  const text = body.toString("latin1");
  return /^--[^\r\n]+\r\n/.test(text) ? text.slice(text.indexOf('name="query"') + 16) : text;
}

/** The statement with other words in it. */
function reworded(statement: Statement, change: (text: string) => string): Statement {
  const text = change(statement.text);
  const search = new URLSearchParams(statement.search);
  if (statement.rows) search.set("query", text);
  const body = statement.rows
    ? statement.body
    : Buffer.from(change(statement.body.toString("latin1")), "latin1");
  return { ...statement, text, search, body };
}

/** @throws what the engine says. */
async function send(front: TestFront, { search, headers, body }: Statement): Promise<Response> {
  // A connection that was kept might be closed by the engine at the moment it is used again.
  const sent = { method: "POST", headers, body, keepalive: false };
  const reply = await fetch(`http://127.0.0.1:${front.port}/?${search}`, sent);
  if (reply.status !== 200) throw new Error(await reply.text());
  return reply;
}

/** Executes statements as a cluster would, by the server that got them. */
class Player {
  readonly #asked: TestFront;
  readonly #shards: readonly Shard[];
  #staged = 0;

  constructor(asked: TestFront, shards: readonly Shard[]) {
    this.#asked = asked;
    this.#shards = shards;
  }

  async answer(statement: Statement): Promise<Response> {
    const [first, second, third] = firstWords(statement.text, 3);
    if (first === "INSERT" && second === "INTO" && third !== "FUNCTION") {
      return await this.#inserted(statement, third!);
    }
    if (["SELECT", "WITH", "INSERT"].includes(first!)) return await this.#read(statement);
    return await this.#everywhere(statement);
  }

  async #read(statement: Statement): Promise<Response> {
    const search = new URLSearchParams(statement.search);
    // A shard that is away is said at once.
    search.set("http_max_tries", "1");
    const all = `clusterAllReplicas('${clusterName}', system.one)`;
    if (!statement.text.includes(all)) return await send(this.#asked, { ...overAll(statement), search });
    const answering = await Promise.all(this.#shards.map(({ front }) => isThere(front)));
    const places = answering.flatMap((isIt, i) => (isIt ? [i + 1] : []));
    const seen = `(SELECT arrayJoin(CAST([${places.join(", ")}], 'Array(UInt32)')) AS _shard_num)`;
    return await send(
      this.#asked,
      reworded({ ...statement, search }, (text) => text.replace(all, seen)),
    );
  }

  /** Definitions and deletions: each server carries them out. */
  async #everywhere(statement: Statement): Promise<Response> {
    const alone = reworded(statement, (text) =>
      withoutReplicas(text.replaceAll(` ON CLUSTER '${clusterName}'`, "")),
    );
    const fronts = this.#shards.map(({ front }) => front);
    const feeding = /^CREATE MATERIALIZED VIEW IF NOT EXISTS \w+ TO (\w+)/m.exec(alone.text)?.[1];
    if (feeding !== undefined) {
      // Statements for every server, or only for the one that got them, feed by the views of one shard.
      const fed = feeding.endsWith(localEnding) ? fronts : fronts.slice(0, 1);
      for (const front of fed) await send(front, alone);
      return new Response("");
    }
    for (const front of fronts) await send(front, alone);
    // Views that feed are the shards' own.
    if (/^ALTER TABLE \w+ MODIFY QUERY\b/m.test(alone.text)) return new Response("");
    const distributed = /^CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?(\w+) AS .* ENGINE = Distributed\(/;
    const [, made] = distributed.exec(alone.text) ?? [];
    if (made !== undefined) return await this.#overShards(statement, made);
    return await send(this.#asked, alone);
  }

  /** What stands for a Distributed table: all rows of all shards. */
  async #overShards(statement: Statement, name: string): Promise<Response> {
    const local = localName(name);
    const described = await this.#ask(
      this.#shards[0]!.front,
      statement,
      `SELECT groupArray((name, type)) AS columns FROM system.columns
       WHERE database = 'sluice' AND table = '${local}' FORMAT JSON`,
    );
    const { data } = (await described.json()) as { data: [{ columns: [string, string][] }] };
    const [{ columns }] = data;
    const names = columns.map(([own]) => `\`${own}\``).join(", ");
    const structure = columns.map(([own, type]) => `\`${own}\` ${type}`).join(", ");
    const rowsOf = ({ front }: Shard, i: number): string => {
      const query = new URLSearchParams({
        user: "default",
        password: frontPassword,
        database: "sluice",
        query: `SELECT ${names} FROM ${local} FORMAT Native`,
      });
      const url = `http://127.0.0.1:${front.port}/?${query}`;
      return `SELECT ${names}, toUInt32(${i + 1}) AS _shard_num FROM url('${url}', 'Native', '${quoted(structure)}')`;
    };
    const all = this.#shards.map(rowsOf).join(" UNION ALL ");
    return await this.#ask(this.#asked, statement, `CREATE OR REPLACE VIEW ${name} AS ${all}`);
  }

  /** A statement of its own with the settings of another. */
  async #ask(front: TestFront, { search, headers }: Statement, text: string): Promise<Response> {
    const own = new URLSearchParams(search);
    for (const name of Array.from(own.keys()))
      if (name === "query" || name.startsWith("param_")) own.delete(name);
    const plain = new Headers(headers);
    for (const name of ["content-type", "content-encoding"]) plain.delete(name);
    const body = Buffer.from(text);
    return await send(front, { text, search: own, headers: plain, body, rows: false });
  }

  /** The rows are made by the server that was asked, divided, and stored by each shard at the same time. */
  async #inserted(statement: Statement, table: string): Promise<Response> {
    const placement = tables[table];
    if (!placement) throw new Error(`the cluster has no table ${table}`);
    const local = localName(table);
    const staged = `staged_${++this.#staged}`;
    await this.#ask(
      this.#asked,
      statement,
      `CREATE TABLE ${staged} AS ${local} ENGINE = MergeTree ORDER BY tuple()`,
    );
    try {
      await this.#read(reworded(statement, (text) => text.replace(`INTO ${table}`, `INTO ${staged}`)));
      const store = async (front: TestFront, where: string): Promise<void> => {
        const reply = await this.#ask(
          this.#asked,
          statement,
          `SELECT * FROM ${staged} ${where} FORMAT Native`,
        );
        const rows = Buffer.from(await reply.arrayBuffer());
        if (rows.length > 0) await storeRows(front, statement, local, rows);
      };
      const fronts = this.#shards.map(({ front }) => front);
      const by = "by" in placement ? placement.by : "0";
      const sent =
        placement.kind === "everywhere"
          ? [...fronts, this.#asked].map((front) => store(front, ""))
          : fronts.map((front, i) => store(front, `WHERE ${by} % ${fronts.length} = ${i}`));
      const failure = (await Promise.allSettled(sent)).find((one) => one.status === "rejected");
      if (failure) throw failure.reason;
      return new Response("");
    } finally {
      await this.#ask(this.#asked, statement, `DROP TABLE ${staged}`);
    }
  }
}

/** A shard has one replica, so that all replicas together have the rows of the Distributed table. */
function overAll(statement: Statement): Statement {
  const replicas = new RegExp(
    `clusterAllReplicas\\('${clusterName}', 'sluice', '(\\w+)${localEnding}'\\)`,
    "g",
  );
  if (!replicas.test(statement.text)) return statement;
  return reworded(statement, (text) => text.replaceAll(replicas, "$1"));
}

async function storeRows(front: TestFront, statement: Statement, table: string, rows: Buffer): Promise<void> {
  const search = new URLSearchParams(statement.search);
  for (const name of Array.from(search.keys())) if (name.startsWith("param_")) search.delete(name);
  search.set("query", `INSERT INTO ${table} FORMAT Native`);
  const headers = new Headers(statement.headers);
  headers.delete("content-type");
  headers.delete("content-encoding");
  await send(front, { ...statement, search, headers, body: rows });
}

async function isThere(front: TestFront): Promise<boolean> {
  const search = new URLSearchParams({ user: "default", password: frontPassword, query: "SELECT 1" });
  const asked = fetch(`http://127.0.0.1:${front.port}/?${search}`, { method: "POST" });
  return await asked.then(
    ({ ok }) => ok,
    () => false,
  );
}

function quoted(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}

/** The first words of a statement, as they are written. */
function firstWords(text: string, count: number): string[] {
  const words: string[] = [];
  for (const token of readTokens(text)) {
    words.push(token.text);
    if (words.length === count) break;
  }
  return words;
}
