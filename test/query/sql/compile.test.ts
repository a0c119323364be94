import { afterAll, expect, test } from "bun:test";
import { queryLimits } from "../../../src/query/limits.ts";
import { compileSelect, SqlProblem } from "../../../src/query/sql/compile/compile.ts";
import { suggestion } from "../../../src/query/sql/compile/value.ts";
import type { ExpressionNode, JoinExpr } from "../../../src/query/sql/tree.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openCompiler } from "./sql_world.ts";

afterAll(cleanUp);
const compile = openCompiler();
// Its process has started before a test's time begins.
await compile("select 1");

const refusals: [query: string, message: RegExp, at: string | undefined][] = [
  ["select evnt from events", /Unable to resolve field: "evnt"\. Did you mean "event"\?/, "evnt"],
  ["select e.evnt from events e", /There is no "evnt" in this table\. Did you mean "event"\?/, "e.evnt"],
  ["<HogQLQuery query='select 1' />", /A SELECT is needed/, undefined],
  ["select 1 from event", /Unknown table "event"\. Did you mean "events"\?/, "event"],
  ["select cuont() from events", /The function "cuont" is not supported\. Did you mean "count"\?/, "cuont()"],
  ["select lower() from events", /"lower" takes 1 arguments, not 0/, "lower()"],
  ["select * from system.tables", /Unknown table "system\.tables"/, "system.tables"],
  ["select * from event_rows", /Unknown table "event_rows"/, "event_rows"],
  ["select * from stored_events", /Unknown table "stored_events"/, "stored_events"],
  ["select * from url('http://x', 'CSV')", /There is no table "url\(…\)"/, undefined],
  ["select * from file('/etc/passwd')", /There is no table/, undefined],
  ["select * from remote('h', 'd', 't')", /There is no table/, undefined],
  ["select * from numbers(1000000000)", /at most 1000000 numbers/, undefined],
  ["select file('/etc/passwd')", /function "file"/, undefined],
  ["select dictGet('d', 'a', 1)", /function "dictGet"/, undefined],
  ["select joinGet('d', 'a', 1)", /function "joinGet"/, undefined],
  ["select sleep(3)", /does not wait/, undefined],
  ["select sleepEachRow(3)", /function "sleepEachRow"/, undefined],
  ["select hostName()", /function "hostName"/, undefined],
  ["select currentDatabase()", /function "currentDatabase"/, undefined],
  ["select getSetting('max_threads')", /function "getSetting"/, undefined],
  ["select version()", /function "version"/, undefined],
  ["select arrayFold((a, x) -> a + x, range(1000), 0)", /works too long/, undefined],
  ["select arrayReduce('sum', [1])", /ARRAY JOIN/, undefined],
  ["select matchesAction('x') from events", /Actions do not exist here/, undefined],
  ["select 1 from events where person_id in cohort 3", /Cohorts do not exist here/, undefined],
  ["select 1 from events sample 0.1", /SAMPLE is not supported/, undefined],
  ["with recursive a as (select 1) select * from a", /WITH RECURSIVE is not supported/, undefined],
  ["select event from events order by event with fill", /WITH FILL is not supported/, undefined],
  ["select {missing}", /no "missing" in its values/, undefined],
  ["select {variables.contry}", /no "contry" in its variables\. Did you mean "country"\?/, undefined],
  ["select distinct_id from events e join events f on e.uuid = f.uuid", /in several tables/, "distinct_id"],
  [
    "select 1 from events e where exists(select 1 from persons p where p.id = e.person_id)",
    /SELECT around this one/,
    undefined,
  ],
  ["select event from events where timestamp > 'yesterday'", /A date is needed/, undefined],
  ["select event from events where timestamp > '2024-13-45'", /A date is needed/, undefined],
  ["select event from events where uuid = 'x'", /A UUID is compared/, undefined],
  [
    "select JSONExtract(properties, 'a', 'AggregateFunction(sum, Int64)') from events",
    /The type is a text of/,
    undefined,
  ],
  ["select quantile(event)(properties.x) from events", /A parameter of an aggregate is a number/, undefined],
  ["select event from events limit -1", /LIMIT and OFFSET take a whole number/, undefined],
  ["select event from events order by 3", /There is no column 3/, undefined],
  [
    "select event from events union all select event, uuid from events",
    /has 2 columns, the first 1/,
    undefined,
  ],
  ["select * from (select 1) limit 10%", /without WITH TIES or percent/, undefined],
  ["select {nul}", /no NUL/, undefined],
  ["select sum(1) over v from events window w as (order by uuid)", /There is no WINDOW "v"/, "sum(1) over v"],
  [
    "select sum(1) over (order by timestamp range interval 1 day preceding) from events",
    /bounds of a window/,
    undefined,
  ],
  ["select sum(1) over (order by uuid rows 1.5 preceding) from events", /bounds of a window/, undefined],
  ["select sum(1) over (order by uuid rows -1 preceding) from events", /bounds of a window/, undefined],
  ["select string_agg(distinct event, ',') from events", /"string_agg" takes no .*DISTINCT/, undefined],
  ["select json_agg(event) filter (where 1) from events", /"json_agg" takes no .*FILTER/, undefined],
  ["select equals(distinct 1, 2)", /"equals" takes no .*DISTINCT/, undefined],
  ["select toInt64OrZero('1')", /"toInt64OrZero" is not supported\. Did you mean "tointorzero"\?/, undefined],
  ["select acme.properties.x from events", /Unable to resolve field: "acme"\./, undefined],
  ["select cuont(distinct 1)", /Did you mean "count"\?/, undefined],
  ["select * from (select 1 union all select 2 limit 3 offset 2)", /LIMIT and OFFSET after a set/, "2"],
  ["select 1 union all select 2 limit 3 offset 2", /LIMIT and OFFSET after a set/, "2"],
  ["select constructor(1, 2)", /function "constructor" is not supported/, undefined],
  ["select __proto__(1, 2)", /function "__proto__" is not supported/, undefined],
  ["select toString(1) over (), valueOf(1) over ()", /function "valueOf" is not supported/, undefined],
];

for (const [query, message, at] of refusals) {
  test(`refused: ${query}`, async () => {
    const problem = await compile(query, { variables: { country: "DE" }, values: { nul: "a\0b" } }).catch(
      (thrown: unknown) => thrown,
    );
    expect(problem).toBeInstanceOf(SqlProblem);
    const { message: found, start, end } = problem as SqlProblem;
    expect(found).toMatch(message);
    if (at !== undefined) expect(query.slice(start, end)).toBe(at);
  });
}

const marks = "zqxj";

test("no byte of the text is in the statement: not of names, texts, comments, placeholders or types", async () => {
  const query = `with ${marks}a as (select event as ${marks}b, properties.${marks}c as \`${marks} d\` from events ${marks}e)
    select ${marks}b as "${marks}f\\"'", arrayMap(${marks}g -> concat(${marks}g, '${marks}h\\'; drop'), ['${marks}i']),
      properties['${marks}j'], person.properties.${marks}k, {${marks}l}, x.1
    from events ${marks}m join ${marks}a on ${marks}m.event = ${marks}a.${marks}b array join [1] as x -- ${marks}n
    where ${marks}m.distinct_id like '%${marks}o%' and ${marks}m.properties.${marks}p in ('${marks}q') group by all`;
  const { statement, columns } = await compile(query.replace("x.1", "x"), {
    values: { [`${marks}l`]: `${marks}'); select 1; --` },
  });
  expect(statement).not.toContain(marks);
  expect(statement).not.toContain("drop");
  expect(columns[0]).toContain(marks);
});

test("a list of texts, or of whole numbers, is one parameter; two are the same only with the same members", async () => {
  const many = Array.from({ length: 900 }, (_, i) => i);
  const texts = `event in (${many.map((i) => `'${i}'`).join(", ")})`;
  const { statement, parameters } = await compile(`
    select ${texts} as a, ${texts} as b, 1 in (${many.join(", ")}) as c,
      event in ('a,b', 'c') as d, event in ('a', 'b,c') as e from events`);
  expect(statement.length).toBeLessThan(1000);
  expect(Object.values(parameters).filter(Array.isArray)).toEqual([
    many.map(String),
    many,
    ["a,b", "c"],
    ["a", "b,c"],
  ]);
});

const statements: [query: string, statement: RegExp][] = [
  ["select (event not in ('a')) * 2 from events", /\(\(NOT \(t0\.\w+ IN \(\{\w+:String\}\)\)\) \* /],
  ["select (event !~ 'a') * 2 from events", /\(\(NOT match\(\S+ \S+\)\) \* /],
  ["select (1 not in (2, event)) * 2 from events", /\(\(NOT \(.* OR .*\)\) \* /],
  ["select (1 not in range(3)) * 2", /\(\(NOT has\(.*\)\) \* /],
  ["select (1 not in (select 1)) * 2", /\(\(NOT \(.* IN \(SELECT .*\)\)\) \* /],
  ["select (1 not between 2 and 3) * 2", /\(\(.* < .*\) OR \(.* > .*\)\) \* /],
  ["select event as e, 'a' in e from events", /\(\{\w+:String\} = c\d+\) AS/],
  ["select arrayExists(x -> 1 in x, [[1]])", /-> has\(l0, \{\w+:UInt8\}\)/],
  ["(select 1 union all select 2) limit 3 offset 2", / LIMIT 4 OFFSET 2$/],
  [
    "with x as (select * from events) select 1 from x where timestamp > '2024-01-01'",
    /WHERE \(t\d+\.(c\d+) > /,
  ],
  [
    "select 1 from (select timestamp from events) where timestamp > now()",
    /AS (c\d+) FROM .* WHERE \(t\d+\.\1 > /,
  ],
  ["select person.properties.a.b from events", /FROM person_values WHERE \S+ = \S+ AND key = \{\w+:String\}/],
];

for (const [query, expected] of statements) {
  test(`compiled: ${query}`, async () => {
    expect((await compile(query)).statement).toMatch(expected);
  });
}

test("whole numbers keep their digits", async () => {
  const numbers = ["9007199254740991", "9007199254740993", "-9007199254740993", "18446744073709551615"];
  const { statement, parameters } = await compile(
    `select ${numbers.join(", ")}, '"value":9007199254740993}', 1e20`,
  );
  const values = [...statement.matchAll(/\{(p\d+):(\w+)\} AS/g)].map(([, name = "", type]) => [
    parameters[name],
    type,
  ]);
  expect(values).toEqual([
    [numbers[0], "UInt64"],
    [numbers[1], "UInt64"],
    [numbers[2], "Int64"],
    [numbers[3], "UInt64"],
    ['"value":9007199254740993}', "String"],
    [1e20, "Float64"],
  ]);
});

test("every table of a statement is limited to the project", async () => {
  const tables = ["events", "persons", "person_distinct_ids", "groups", "sessions", "session_recordings"];
  for (const table of [
    ...tables,
    "ingestion_warnings",
    "session_replay_events",
    "raw_session_replay_events",
  ]) {
    const { statement } = await compile(`select * from ${table}`);
    for (const [inner] of statement.matchAll(
      / FROM (?:stored_)?[a-z_]+ (?!WHERE project_id = \{project_id:UInt32\})/g,
    )) {
      throw new Error(`${table} reads without the project: ${inner}`);
    }
    expect(statement).toContain("WHERE project_id = {project_id:UInt32}");
  }
});

test("scopes of persons, groups and recordings are required where they are named", async () => {
  const scopesOf = async (query: string) => [...(await compile(query)).scopes].toSorted();
  expect(await scopesOf("select event, person_id, session.$channel_type from events")).toEqual([]);
  expect(await scopesOf("select person.properties.email from events")).toEqual(["person:read"]);
  expect(await scopesOf("select 1 where 1 in (select 1 from persons)")).toEqual(["person:read"]);
  expect(await scopesOf("with p as (select person_id from person_distinct_ids) select * from p")).toEqual([
    "person:read",
  ]);
  expect(await scopesOf("select group_1.properties.name from events")).toEqual(["group:read"]);
  expect(await scopesOf("select key from groups")).toEqual(["group:read"]);
  expect(await scopesOf("select session_id from raw_session_replay_events")).toEqual([
    "session_recording:read",
  ]);
});

test("columns are called as the query calls them", async () => {
  const { columns } = await compile(
    "select event as e, properties.$browser, count( ), properties['a b'], 1+ 1 from events",
  );
  expect(columns).toEqual(["e", "$browser", "count( )", "a b", "1+ 1"]);
});

test("limits: 100 rows without one, 50,000 at most", async () => {
  expect((await compile("select 1")).limit).toBe(queryLimits.sqlRowsDefault);
  expect((await compile("select 1 limit 1000000")).limit).toBe(queryLimits.sqlRowsMax);
});

test("a WITH that doubles at each step is refused, not compiled", async () => {
  const steps = Array.from(
    { length: 30 },
    (_, i) => `a${i + 1} as (select * from a${i} as x cross join a${i} as y)`,
  );
  const bomb = compile(`with a0 as (select 1 as one), ${steps.join(", ")} select 1 from a30`);
  expect(bomb).rejects.toThrow(`at most ${queryLimits.sqlPartsMax} parts`);
});

test("what a short text makes of itself is bounded: values, stars, parts written twice", async () => {
  const problem = async (query: string, values = {}) => {
    try {
      return (await compile(query, { values })).statement.length;
    } catch (thrown) {
      if (thrown instanceof SqlProblem) return thrown.message;
      throw thrown;
    }
  };
  const many = Array.from({ length: queryLimits.sqlPartsMax + 1 }, (_, i) => i);
  expect(await problem("select {x}", { x: many })).toContain("parts");
  const text = "a".repeat(queryLimits.sqlValuesCharsMax / 2);
  expect(await problem("select {x}, {x}, {x}", { x: text })).toBeNumber();
  expect(await problem("select {x}, {y}", { x: text, y: `${text}b` })).toContain("characters");
  expect(await problem("select {x}", { x: Infinity })).toBe("A number is finite.");
  const stars = Array.from({ length: 200 }, () => "*").join(", ");
  expect(await problem(`select * from (select ${stars} from (select ${stars} from events))`)).toContain(
    "parts",
  );
  const doubled = Array.from({ length: 21 }, (_, i) => `nullif(c${i} == c0, 1) as c${i + 1}`);
  expect(await problem(`with nullif(1, 2) as c0, ${doubled.join(", ")} select c21`)).toContain("too long");
});

/** Parts of a query, of which each is counted when it is compiled: then its `member` is read. */
function countedParts(count: number, part: ExpressionNode, member: "args" | "value") {
  const compiled = new Set<number>();
  const value: unknown = Reflect.get(part, member);
  const parts = Array.from({ length: count }, (_, i) =>
    Object.defineProperty({ ...part }, member, { get: () => (compiled.add(i), value) }),
  );
  return { parts, compiled };
}

const constant = (value: number): ExpressionNode => ({ node: "Constant", value });
const nullIf = (...args: ExpressionNode[]): ExpressionNode => ({ node: "Call", name: "nullIf", args });

/** A value that is written twice at each level: 150 kB of the statement. */
function longPart(levels = 10): ExpressionNode {
  const least = nullIf(constant(1), constant(2));
  if (levels === 0) return least;
  return nullIf(
    { node: "CompareOperation", op: "==", left: longPart(levels - 1), right: least },
    constant(1),
  );
}

test("a long part that stands in a query many times is refused after some of them, before they are joined", () => {
  const context = { project_id: 1, timezone: "UTC", now: 0, text: "" };
  const again = ["concat", "tuple", "array"].map((name) => [name, longPart(), "args"] as const);
  for (const [name, part, member] of [...again, ["_caseWithExpression", constant(1), "value"] as const]) {
    const { parts, compiled } = countedParts(2000, part, member);
    const call: ExpressionNode = { node: "Call", name, args: [longPart(), ...parts] };
    expect(() => compileSelect({ node: "SelectQuery", select: [call] }, context)).toThrow(SqlProblem);
    expect([name, compiled.size > 0, compiled.size < 300]).toEqual([name, true, true]);
  }
});

test("a long value beside a long list of several types is refused", () => {
  const field = (chain: string[]): ExpressionNode => ({ node: "Field", chain });
  const coalesce = (args: ExpressionNode[]): ExpressionNode => ({ node: "Call", name: "coalesce", args });
  const properties = Array.from({ length: 200 }, (_, i) => field(["properties", `k${i % 9}`]));
  const long = coalesce(Array.from({ length: 12 }, () => coalesce(properties)));
  const lengthWith = (count: number): number => {
    const exprs = Array.from({ length: count }, (_, i) =>
      i % 2 ? constant(i) : ({ node: "Constant", value: "a" } as const),
    );
    const select: ExpressionNode[] = [
      { node: "CompareOperation", op: "in", left: long, right: { node: "Tuple", exprs } },
    ];
    const select_from: JoinExpr = { node: "JoinExpr", table: { node: "Field", chain: ["events"] } };
    const context = { project_id: 1, timezone: "UTC", now: 0, text: "" };
    return compileSelect({ node: "SelectQuery", select, select_from }, context).statement.length;
  };
  expect(lengthWith(4)).toBeGreaterThan(70_000);
  expect(() => lengthWith(2000)).toThrow("The query becomes too long.");
});

test("what a name perhaps meant is looked for among a thousand names", () => {
  const names = (count: number): string[] => [
    ...Array.from({ length: count }, (_, i) => `column ${i}`),
    "wanted",
  ];
  expect(suggestion("wonted", names(900))).toBe(' Did you mean "wanted"?');
  expect(suggestion("wonted", names(1100))).toBe("");
  expect(suggestion(`wanted${"d".repeat(40)}`, names(0))).toBe("");
});

test("of the sessions beside events, those are read that may have an event in the requested time", async () => {
  const limitsOf = async (where: string) => {
    const { statement } = await compile(`select session.$is_bounce from events where ${where}`);
    return [...statement.matchAll(/ AND (start|end)_time (<=|>=|<|>) /g)].map(
      ([, side, sign]) => `${side} ${sign}`,
    );
  };
  const june = "timestamp >= '2024-06-01' and timestamp < '2024-07-01'";
  expect(await limitsOf(june)).toEqual(["end >=", "start <"]);
  expect(await limitsOf(`event = 'a' and (${june})`)).toEqual(["end >=", "start <"]);
  expect(await limitsOf("timestamp between '2024-06-01' and now()")).toEqual(["end >=", "start <="]);
  expect(await limitsOf("now() - interval 1 day < timestamp")).toEqual(["end >"]);
  expect(await limitsOf("timestamp = '2024-06-01'")).toEqual(["end >=", "start <="]);
  expect(await limitsOf("toDate(timestamp) = '2024-06-01'")).toEqual(["end >=", "start <"]);
  for (const none of [
    `event = 'a' or (${june})`,
    `not (${june})`,
    "timestamp not between '2024-06-01' and '2024-07-01'",
    "timestamp >= created_at",
    "timestamp != '2024-06-01'",
    "timestamp > now() - rand()",
    "timestamp > (select max(timestamp) from events)",
    "created_at > '2024-06-01'",
  ])
    expect([none, await limitsOf(none)]).toEqual([none, []]);
});
