import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileQuery } from "../../../src/batch_exports/query/compile.ts";
import { queryFunctions } from "../../../src/batch_exports/query/functions.ts";
import { Fault } from "../../../src/core/fault.ts";

const functionNames = [...queryFunctions.values()].map(({ name }) => name);

function refusal(text: string, model: "events" | "persons" = "events"): string {
  try {
    const { columns, where_sql } = compileQuery(text, model);
    return `taken: ${JSON.stringify(columns)} ${where_sql}`;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    expect([thrown.code, thrown.attr]).toEqual(["invalid_input", "native_query"]);
    return thrown.detail;
  }
}

test("columns, paths into properties and literals become our own columns and parameters", () => {
  const text = `
    SELECT event AS event_name, properties.$browser, properties['a b'].c AS deep, 'it''s' AS said, -5 AS n -- five
    FROM events /* ours */ WHERE event = 'x' AND properties.n > 3.5`;
  expect(compileQuery(text, "events")).toEqual({
    columns: [
      { expression_sql: "event", alias: "event_name" },
      { expression_sql: "JSONExtract(properties, {q0:String}, 'Nullable(String)')", alias: "$browser" },
      {
        expression_sql: "JSONExtract(properties, {q1:String}, {q2:String}, 'Nullable(String)')",
        alias: "deep",
      },
      { expression_sql: "{q3:String}", alias: "said" },
      { expression_sql: "{q4:Int64}", alias: "n" },
    ],
    where_sql:
      "((event = {q5:String}) AND (toFloat64OrNull(JSONExtract(properties, {q6:String}, 'Nullable(String)')) > {q7:Float64}))",
    params: { q0: "$browser", q1: "a b", q2: "c", q3: "it's", q4: "-5", q5: "x", q6: "n", q7: 3.5 },
    written: [
      { expression: "event", alias: "event_name" },
      { expression: "properties.$browser", alias: "$browser" },
      { expression: "properties['a b'].c", alias: "deep" },
      { expression: "'it''s'", alias: "said" },
      { expression: "-5", alias: "n" },
    ],
  });
});

test("every operator binds as in SQL", () => {
  const where = (text: string) => compileQuery(`SELECT uuid FROM events WHERE ${text}`, "events").where_sql;
  expect(where("event = distinct_id OR uuid = uuid AND NOT event IS NULL")).toBe(
    "((event = distinct_id) OR ((uuid = uuid) AND (NOT (event IS NULL))))",
  );
  expect(where("event NOT IN ('a', 'b')")).toBe("(event NOT IN ({q0:String}, {q1:String}))");
  expect(where("event like 'a\\%' and event not ilike 'b'")).toBe(
    "((event LIKE {q0:String}) AND (event NOT ILIKE {q1:String}))",
  );
  expect(where("1 + 2 * 3 - 4 = 5")).toBe(
    "((({q0:Int64} + ({q1:Int64} * {q2:Int64})) - {q3:Int64}) = {q4:Int64})",
  );
  expect(where("length(event) between 1 and 2")).toBe(
    "((length(event) >= {q0:Int64}) AND (length(event) <= {q1:Int64}))",
  );
  expect(where("event || '!' != 'a!' and properties.paid = true")).toBe(
    "((concat(event, {q0:String}) != {q1:String}) AND (JSONExtract(properties, {q2:String}, 'Nullable(String)') = {q3:String}))",
  );
  expect(where("event = 'a' or event = 'b' or event = 'c'")).toBe(
    "((event = {q0:String}) OR (event = {q1:String}) OR (event = {q2:String}))",
  );
  expect(where("1 + 1 + 1 - 1 - 1 = 1")).toBe(
    "(((({q0:Int64} + {q1:Int64} + {q2:Int64}) - {q3:Int64}) - {q4:Int64}) = {q5:Int64})",
  );
  expect(where("events.event is not null")).toBe("(event IS NOT NULL)");
});

test("a star is every column, and expressions without a name get one of their own", () => {
  const aliases = (text: string) => compileQuery(text, "events").columns.map(({ alias }) => alias);
  expect(aliases("SELECT * FROM events")).toContain("uuid");
  expect(aliases("SELECT lower(event), lower(event), 1, '+', uuid FROM events")).toEqual([
    "lower_event",
    "lower_event_2",
    "_1",
    "column_4",
    "uuid",
  ]);
  expect(
    aliases("SELECT project.id, uuid FROM events".replace("project.id", "properties.project_id")),
  ).toEqual(["column_1", "uuid"]);
});

test("what is more than a SELECT of one table is refused, each with its reason", () => {
  const cases: [string, string][] = [
    ["", "Unsupported HogQL query"],
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
    ["SELECT event FROM events ARRAY JOIN x", "JOINs are not supported"],
    ["SELECT event FROM events, persons", "JOINs are not supported"],
    ["SELECT event FROM (SELECT 1)", "Subqueries or CTEs are not supported"],
    ["SELECT (SELECT 1) FROM events", "Subqueries or CTEs are not supported"],
    ["SELECT event FROM events WHERE event IN (SELECT 1)", "Subqueries or CTEs are not supported"],
    ["SELECT lower(SELECT 1) FROM events", "Subqueries or CTEs are not supported"],
    ["WITH x AS (SELECT 1) SELECT event FROM events", "Subqueries or CTEs are not supported"],
    ["SELECT event FROM events SETTINGS readonly = 0", "SETTINGS is not supported"],
    ["SELECT event FROM events GROUP BY event", "GROUP is not supported"],
    ["SELECT event FROM events LIMIT 1", "LIMIT is not supported"],
    ["SELECT event FROM events FORMAT JSON", "FORMAT is not supported"],
    ["SELECT event FROM events INTO OUTFILE '/tmp/x'", "INTO is not supported"],
    ["SELECT event FROM events FINAL", "FINAL is not supported"],
    ["SELECT event FROM events;", "one statement only"],
    ["SELECT event FROM events; DROP TABLE event_rows", "one statement only"],
    ["INSERT INTO events VALUES (1)", "it must begin with SELECT"],
    ["DROP TABLE events", "it must begin with SELECT"],
    ["SELECT DISTINCT event FROM events", "DISTINCT is not supported"],
    ["SELECT nothing FROM events", "Invalid HogQL query: Unable to resolve field: nothing"],
    ["SELECT project_id FROM events", "Unable to resolve field: project_id"],
    ["SELECT _batch FROM events", "Unable to resolve field: _batch"],
    ["SELECT event.x FROM events", "Unable to resolve field: event.x"],
    ["SELECT `event`` FROM x` FROM events", "Failed to parse query"],
    ["SELECT sleep(3) FROM events", "the function sleep is not supported"],
    ["SELECT file('/etc/passwd') FROM events", "the function file is not supported"],
    ["SELECT count() FROM events", "the function count is not supported"],
    ["SELECT dictGet('a', 'b', 1) FROM events", "the function dictGet is not supported"],
    ["SELECT lower() FROM events", "lower takes 1 arguments, not 0"],
    ["SELECT event AS project_id FROM events", 'the alias "project_id" is reserved'],
    ["SELECT event AS `a b` FROM events", "must be 1 to 64 letters"],
    ["SELECT event AS x, uuid AS x FROM events", 'the column "x" is there twice'],
    ["SELECT {x:String} FROM events", "Failed to parse query"],
    ["SELECT event FROM events WHERE event = ?", "Failed to parse query"],
    ["SELECT 'open FROM events", "Failed to parse query"],
    ["SELECT '\\x41' FROM events", "Failed to parse query"],
    ["SELECT 1e400 FROM events", "too large"],
    ["SELECT 99999999999999999999 FROM events", "too large"],
    [`SELECT ${"(".repeat(60)}1${")".repeat(60)} FROM events`, "nested deeper"],
    [`SELECT ${Array(201).fill("uuid").join()} FROM events`, "more than 200 columns"],
    [`SELECT uuid FROM events WHERE event IN (${Array(2000).fill("1").join()})`, "more than 2000 parts"],
    [`SELECT ${Array(2001).fill("1").join("+")} AS x FROM events`, "more than 2000 parts"],
    ["SELECT hex(hex(hex(hex(hex(event))))) FROM events", "functions that make texts longer"],
    ["SELECT event FROM events WHERE event IN (uuid)", "IN takes a list"],
    ["SELECT x -> x FROM events", "Failed to parse query"],
    ["SELECT event FROM events WHERE", "Failed to parse query"],
    ["SELECT event event FROM events", "EVENT is not supported"],
  ];
  const wrong = cases.filter(([text, reason]) => !refusal(text).includes(reason));
  expect(wrong.map(([text, reason]) => [text, reason, refusal(text)])).toEqual([]);
});

test("persons are selected from persons", () => {
  expect(
    compileQuery("SELECT distinct_id, properties.plan AS plan FROM persons", "persons").columns,
  ).toHaveLength(2);
  expect(refusal("SELECT event FROM events", "persons")).toBe("Query must only SELECT FROM persons");
  expect(refusal("SELECT event FROM persons", "persons")).toContain("Unable to resolve field: event");
});

const keywords = "AND|OR|NOT|IN|LIKE|ILIKE|IS|NULL|true|false";
const columns =
  "uuid|event|distinct_id|person_id|properties|timestamp|created_at|historical_migration|person_version|" +
  "person_distinct_id_version|_inserted_at|is_deleted";
const inner =
  "toFloat64OrNull|accurateCastOrNull|toUUIDOrNull|parseDateTimeBestEffortOrNull|JSONExtract|toDate|" +
  "parseDateTime64BestEffortOrNull|trimBoth";
/** All that a statement may be made of, word by word. */
const allowed = new RegExp(
  `^(?:\\{q\\d+:(?:String|Int64|Float64)\\}|'(?:Nullable\\(String\\)|Int64|Float64|Bool|UTC|\\$elements_chain)'|` +
    `[\\s(),]|\\|\\||!=|<=|>=|[-+*/%=<>]|\\b6\\b|\\b(?:${keywords}|${columns}|${inner}|${functionNames.join("|")})\\b)*$`,
);

function isOurs(text: string): boolean {
  let compiled;
  try {
    compiled = compileQuery(text, "events");
  } catch (thrown) {
    return thrown instanceof Fault;
  }
  const named = Object.keys(compiled.params).every((name) => /^q\d+$/.test(name));
  const sql = [...compiled.columns.map(({ expression_sql }) => expression_sql), compiled.where_sql ?? ""];
  const aliases = compiled.columns.every(({ alias }) => /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/.test(alias));
  return named && aliases && sql.every((one) => allowed.test(one));
}

const words = fc.constantFrom(
  ..."SELECT select FROM WHERE events persons event uuid properties properties.a ( ) , . * + - / % = != <> < >= || [ ] ; 'a' '\\'' '' 1 2.5 1e3 AND OR NOT IN LIKE IS NULL BETWEEN AS x lower( concat( if( toInt( hex( sleep( file( url( s3( UNION JOIN SETTINGS FORMAT `a` \"b\" {x} ? -- /* */ \\ ' $x system.tables true -1 @ # ~ : :: -> λ \u0000".split(
    " ",
  ),
);

test("no text made of the language's words gets anything through that is not ours", () => {
  const text = fc.array(words, { maxLength: 40 }).map((parts) => `SELECT ${parts.join(" ")}`);
  fc.assert(fc.property(text, isOurs), { numRuns: 3000 });
});

test("no expression that is taken becomes more than columns, functions and parameters of ours", () => {
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
  fc.assert(
    fc.property(tree, tree, (column, where) => {
      const text = `SELECT ${column} AS c FROM events WHERE ${where}`;
      if (!refusal(text).startsWith("taken")) return true;
      taken++;
      return isOurs(text);
    }),
    { numRuns: 2000 },
  );
  // Otherwise this says nothing.
  expect(taken).toBeGreaterThan(100);
});

test("anything at all is answered", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 200 }),
      (text) => isOurs(text) && isOurs(`SELECT ${text} FROM events`),
    ),
    { numRuns: 2000 },
  );
});
