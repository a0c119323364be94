import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type CompiledQuery,
  compileQuery as compileFor,
  writtenColumns,
} from "../../../src/batch_exports/query/compile.ts";
import { queryFunctions } from "../../../src/batch_exports/query/tables.ts";
import { Fault } from "../../../src/core/fault.ts";
import { openEngineZones } from "../../../src/storage/clickhouse/zones.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestParser } from "../../support/sql_parser.ts";

afterAll(cleanUp);

const { parse } = openTestParser();
const compileQuery = (text: string, model: "events" | "persons") =>
  compileFor(parse, text, { model, project_id: 1 }, openEngineZones(1));
const functionNames = [...queryFunctions];

async function refusal(text: string, model: "events" | "persons" = "events"): Promise<string> {
  try {
    const { columns, where_sql } = await compileQuery(text, model);
    return `taken: ${JSON.stringify(columns)} ${where_sql}`;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    expect([thrown.code, thrown.attr]).toEqual(["invalid_input", "native_query"]);
    return thrown.detail;
  }
}

test("columns, paths into properties and literals become our own columns and parameters", async () => {
  const text = `
    SELECT event AS event_name, properties.$browser, properties['a b'].c AS deep, 'it''s' AS said, -5 AS n -- five
    FROM events /* ours */ WHERE event = 'x' AND properties.n > 3.5`;
  const { columns, where_sql, params } = await compileQuery(text, "events");
  expect(columns.map(({ alias }) => alias)).toEqual(["event_name", "$browser", "deep", "said", "n"]);
  const sqlOf = Object.fromEntries(columns.map(({ alias, expression_sql }) => [alias, expression_sql]));
  expect(sqlOf["event_name"]).toBe("event");
  expect(sqlOf["deep"]).toMatch(
    /^if\(isNull\(JSONExtract\(properties, \{p\d+:String\}, \{p\d+:String\}, 'Nullable\(String\)'\)\), /,
  );
  expect([sqlOf["said"], sqlOf["n"]]).toEqual([
    expect.stringMatching(/^\{p\d+:String\}$/),
    expect.stringMatching(/^\{p\d+:Int64\}$/),
  ]);
  expect(where_sql).toMatch(
    /^\(\(\(event = \{p\d+:String\}\) AND ifNull\(toFloat64OrNull\(.*\) > \{p\d+:Float64\}, 0\)\)\)$/,
  );
  for (const value of ["$browser", "a b", "c", "it's", "-5", "x", "n", 3.5]) {
    expect(Object.values(params)).toContain(value);
  }
  expect(await writtenColumns(parse, text, { model: "events", project_id: 1 })).toEqual([
    { expression: "event", alias: "event_name" },
    { expression: "properties.$browser", alias: "$browser" },
    { expression: "properties['a b'].c", alias: "deep" },
    { expression: "'it''s'", alias: "said" },
    { expression: "-5", alias: "n" },
  ]);
});

test("every operator binds as in SQL", async () => {
  const where = async (text: string) =>
    (await compileQuery(`SELECT uuid FROM events WHERE ${text}`, "events")).where_sql?.replaceAll(
      /p\d+:/g,
      "",
    );
  expect(await where("event = distinct_id OR uuid = uuid AND NOT event IS NULL")).toBe(
    "(((event = distinct_id) OR ((uuid = uuid) AND (NOT isNull(event)))))",
  );
  expect(await where("event NOT IN ('a', 'b')")).toBe("((NOT (event IN {Array(String)})))");
  expect(await where("event like 'a\\%' and event not ilike 'b'")).toBe(
    "(((event LIKE {String}) AND (event NOT ILIKE {String})))",
  );
  expect(await where("1 + 2 * 3 - 4 = 5")).toBe("(((({Int64} + ({Int64} * {Int64})) - {Int64}) = {Int64}))");
  expect(await where("length(event) between 1 and 2")).toBe(
    "(((length(event) >= {Int64}) AND (length(event) <= {Int64})))",
  );
  expect(await where("event = 'a' or event = 'b' or event = 'c'")).toBe(
    "(((event = {String}) OR (event = {String}) OR (event = {String})))",
  );
  expect(await where("events.event is not null")).toBe("(isNotNull(event))");
});

test("a star is every column, and expressions without a name get one of their own", async () => {
  const aliases = async (text: string) =>
    (await compileQuery(text, "events")).columns.map(({ alias }) => alias);
  expect(await aliases("SELECT * FROM events")).toContain("uuid");
  expect(await aliases("SELECT lower(event), lower(event), 1, '+', uuid FROM events")).toEqual([
    "lower_event",
    "lower_event_2",
    "_1",
    "column_4",
    "uuid",
  ]);
  expect(await aliases("SELECT properties.project_id, uuid FROM events")).toEqual(["column_1", "uuid"]);
});

test("what is more than a SELECT of one table is refused, each with its reason", async () => {
  const cases: [string, string][] = [
    ["", "Failed to parse query"],
    ["SELECT", "Failed to parse query"],
    ["SELECT event", "Query must SELECT FROM events"],
    ["SELECT event FROM persons", "Query must only SELECT FROM events"],
    ["SELECT event FROM system.users", "Query must only SELECT FROM events"],
    ["SELECT event FROM sluice.events", "Query must only SELECT FROM events"],
    ["SELECT event FROM event_rows", "Query must only SELECT FROM events"],
    ["SELECT event FROM file('/etc/passwd')", "Query must only SELECT FROM events"],
    ["SELECT event FROM events('x')", "Query must only SELECT FROM events"],
    ["SELECT event FROM url('http://127.0.0.1/', 'CSV')", "Query must only SELECT FROM events"],
    ["SELECT event FROM events UNION ALL SELECT event FROM events", "UNIONs are not supported"],
    ["SELECT event FROM events EXCEPT SELECT 1", "UNIONs are not supported"],
    ["SELECT event FROM events JOIN persons ON 1", "JOINs are not supported"],
    ["SELECT event FROM events LEFT JOIN persons ON 1", "JOINs are not supported"],
    ["SELECT event FROM events ARRAY JOIN [1] AS x", "JOINs are not supported"],
    ["SELECT event FROM events, persons", "JOINs are not supported"],
    ["SELECT event FROM (SELECT 1)", "Subqueries or CTEs are not supported"],
    ["SELECT (SELECT 1) FROM events", "Subqueries or CTEs are not supported"],
    ["SELECT event FROM events WHERE event IN (SELECT 1)", "Subqueries or CTEs are not supported"],
    ["SELECT lower(SELECT 1) FROM events", "Subqueries or CTEs are not supported"],
    ["WITH x AS (SELECT 1) SELECT event FROM events", "Subqueries or CTEs are not supported"],
    ["SELECT event FROM events SETTINGS readonly = 0", "Failed to parse query"],
    ["SELECT event FROM events GROUP BY event", "GROUP BY is not supported"],
    ["SELECT event FROM events LIMIT 1", "LIMIT is not supported"],
    ["SELECT event FROM events FORMAT JSON", "ALIAS is not supported"],
    ["SELECT event FROM events INTO OUTFILE '/tmp/x'", "Failed to parse query"],
    ["SELECT event FROM events FINAL", "FINAL is not supported"],
    ["SELECT event FROM events; DROP TABLE event_rows", "Failed to parse query"],
    ["INSERT INTO events VALUES (1)", "Failed to parse query"],
    ["DROP TABLE events", "Failed to parse query"],
    ["SELECT DISTINCT event FROM events", "DISTINCT is not supported"],
    ["SELECT nothing FROM events", 'Invalid HogQL query: Unable to resolve field: "nothing"'],
    ["SELECT project_id FROM events", 'Unable to resolve field: "project_id"'],
    ["SELECT _batch FROM events", 'Unable to resolve field: "_batch"'],
    ["SELECT event.x FROM events", '"event" has no members'],
    ["SELECT `event`` FROM x` FROM events", "Unable to resolve field"],
    ["SELECT sleep(3) FROM events", "the function sleep is not supported"],
    ["SELECT file('/etc/passwd') FROM events", "the function file is not supported"],
    ["SELECT count() FROM events", "the function count is not supported"],
    ["SELECT dictGet('a', 'b', 1) FROM events", "the function dictGet is not supported"],
    ["SELECT lower() FROM events", '"lower" takes 1 arguments, not 0'],
    ["SELECT event AS project_id FROM events", 'the alias "project_id" is reserved'],
    ["SELECT event AS `a b` FROM events", "must be 1 to 64 letters"],
    ["SELECT event AS x, uuid AS x FROM events", 'the column "x" is named twice'],
    ["SELECT {x:String} FROM events", "Dict is not supported"],
    ["SELECT {x} FROM events", "Placeholder is not supported"],
    ["SELECT event FROM events WHERE event = ?", "Failed to parse query"],
    ["SELECT 'open FROM events", "Failed to parse query"],
    ["SELECT 1e400 FROM events", "too large"],
    ["SELECT 99999999999999999999 FROM events", "too large"],
    [`SELECT ${"(".repeat(60)}1${")".repeat(60)} FROM events`, "Brackets may nest"],
    [`SELECT ${Array(201).fill("uuid").join()} FROM events`, "more than 200 columns"],
    [`SELECT uuid FROM events WHERE event IN (${Array(2000).fill("1").join()})`, "more than 2000 parts"],
    [`SELECT ${Array(2001).fill("1").join("+")} AS x FROM events`, "Failed to parse query"],
    ["SELECT hex(hex(hex(hex(hex(event))))) FROM events", "functions that make texts longer"],
    ["SELECT event FROM events WHERE event IN (uuid)", "IN takes a list"],
    ["SELECT x -> x FROM events", "Lambda is not supported"],
    ["SELECT now() FROM events", "the function now is not supported"],
    ["SELECT lower(event AS b) FROM events", "Alias is not supported"],
    ["SELECT sum(1) OVER () FROM events", "WindowFunction is not supported"],
    ["SELECT event FROM events LIMIT 1 BY event", "LIMIT BY is not supported"],
    ["SELECT event FROM events SAMPLE 0.1", "SAMPLE is not supported"],
    ["SELECT event FROM events WHERE", "Failed to parse query"],
    ["SELECT toTimeZone(timestamp, 'file:/proc/self/fd/7') AS x FROM events", "is no time zone"],
    ["SELECT toTimeZone(timestamp, 'Fixed/UTC-00:01:01') AS x FROM events", "is no time zone"],
    ["SELECT toTimeZone(timestamp, event) AS x FROM events", "A time zone is a text of the query"],
    ["SELECT dateTrunc('day', timestamp, 'file:/etc/passwd') AS x FROM events", "is no time zone"],
    ["SELECT toString(timestamp, 'Fixed/UTC-00:01:01') AS x FROM events", "is no time zone"],
    ["SELECT dateTrunc(event, timestamp) AS x FROM events", "The unit is one of"],
    ["SELECT formatDateTime(timestamp, event) AS x FROM events", "The format is a text of the query"],
    ["SELECT match(event, distinct_id) AS x FROM events", "A pattern is a text of the query"],
    ["SELECT match(event, '((a{30}){30}){30}') AS x FROM events", "A pattern with its repetitions"],
    ["SELECT repeat(event, 1000000) AS x FROM events", "the function repeat is not supported"],
  ];
  const wrong: string[][] = [];
  for (const [text, reason] of cases) {
    const said = await refusal(text);
    if (!said.includes(reason)) wrong.push([text, reason, said]);
  }
  expect(wrong).toEqual([]);
}, 300_000);

test("persons are selected from persons", async () => {
  const { columns } = await compileQuery(
    "SELECT distinct_id, properties.plan AS plan FROM persons",
    "persons",
  );
  expect(columns).toHaveLength(2);
  expect(await refusal("SELECT event FROM events", "persons")).toBe("Query must only SELECT FROM persons");
  expect(await refusal("SELECT event FROM persons", "persons")).toContain('Unable to resolve field: "event"');
});

const columns =
  "uuid|event|distinct_id|person_id|properties|timestamp|created_at|historical_migration|person_version|" +
  "person_distinct_id_version|_inserted_at|is_deleted|and|or|not|in|like|ilike|null|true|false|transform";
const ownWords = new Set([...queryFunctions, ...columns.split("|")]);
/** Functions that conversions of theirs are written with. */
const ownShapes = /^(?:to|is|JSON|accurateCastOrNull$|parseDateTime|arrayElement$|has$)\w*$/;
const quoted = /'(?:[^'\\]|\\[^])*'/g;

const literalsOf = ({ columns: all, where_sql }: CompiledQuery): string[] =>
  [...all.map(({ expression_sql }) => expression_sql), where_sql ?? ""].flatMap(
    (sql) => sql.match(quoted) ?? [],
  );
/** What stands in quotes in our own words. */
const ownLiterals = new Set(
  literalsOf(
    await compileQuery(
      `SELECT properties.a, properties.a.b, elements_chain, toInt(event), toFloat(event), toBool(event), toUUID(event),
         toDate(event), toDateTime(event), properties.a = true, event || event FROM events`,
      "events",
    ),
  ),
);

/** All that a statement may be made of, word by word. */
function isAllowed(sql: string): boolean {
  const plain = sql.replaceAll(/\{(?:p\d+:\w+|tz:String)\}/g, " ").replaceAll(quoted, " ");
  const words = plain.match(/\w+/g) ?? [];
  return words.every(
    (word) => ownWords.has(word.toLowerCase()) || ownShapes.test(word) || /^\d+$/.test(word),
  );
}

async function isOurs(text: string): Promise<boolean> {
  let compiled;
  try {
    compiled = await compileQuery(text, "events");
  } catch (thrown) {
    return thrown instanceof Fault;
  }
  const named = Object.keys(compiled.params).every((name) => /^(?:p\d+|project_id|tz|now)$/.test(name));
  const sql = [...compiled.columns.map(({ expression_sql }) => expression_sql), compiled.where_sql ?? ""];
  const aliases = compiled.columns.every(({ alias }) => /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/.test(alias));
  return (
    named && aliases && sql.every(isAllowed) && literalsOf(compiled).every((one) => ownLiterals.has(one))
  );
}

const words = fc.constantFrom(
  ..."SELECT select FROM WHERE events persons event uuid properties properties.a ( ) , . * + - / % = != <> < >= || [ ] ; 'a' '\\'' '' 1 2.5 1e3 AND OR NOT IN LIKE IS NULL BETWEEN AS x lower( concat( if( toInt( hex( sleep( file( url( s3( UNION JOIN SETTINGS FORMAT `a` \"b\" {x} ? -- /* */ \\ ' $x system.tables true -1 @ # ~ : :: -> λ \u0000".split(
    " ",
  ),
);

test("no text made of the language's words gets anything through that is not ours", async () => {
  const text = fc.array(words, { maxLength: 40 }).map((parts) => `SELECT ${parts.join(" ")}`);
  await fc.assert(fc.asyncProperty(text, isOurs), { numRuns: 150 });
}, 300_000);

test("no expression that is taken becomes more than columns, functions and parameters of ours", async () => {
  const name = fc.constantFrom(
    "event",
    "uuid",
    "properties.a",
    "properties['x; DROP']",
    "events.event",
    "nobody",
  );
  const call = fc.constantFrom(...functionNames, "sleep", "file", "hostName", "getSetting", "remote");
  const literal = fc.oneof(
    fc
      .string({ unit: "binary", maxLength: 12 })
      .map((text) => `'${text.replace(/[\\']/g, (one) => `\\${one}`)}'`),
    fc.integer().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.constantFrom("NULL", "true", "false"),
  );
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      name,
      literal,
      fc
        .tuple(call, fc.array(tie("tree"), { maxLength: 3 }))
        .map(([fn, args]) => `${fn}(${args.join(", ")})`),
      fc
        .tuple(tie("tree"), fc.constantFrom("=", "+", "OR", "AND", "||", "LIKE", "NOT IN", "%"), tie("tree"))
        .map(([left, sign, right]) => `(${left} ${sign} ${right})`),
    ),
  }));
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(tree, tree, async (column, where) => {
      const text = `SELECT ${column} AS c FROM events WHERE ${where}`;
      if (!(await refusal(text)).startsWith("taken")) return true;
      taken++;
      return await isOurs(text);
    }),
    { numRuns: 200, seed: 32 },
  );
  // Otherwise this says nothing.
  expect(taken).toBeGreaterThan(20);
}, 300_000);

test("anything at all is answered", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "binary", maxLength: 200 }),
      async (text) => (await isOurs(text)) && (await isOurs(`SELECT ${text} FROM events`)),
    ),
    { numRuns: 100 },
  );
}, 300_000);
