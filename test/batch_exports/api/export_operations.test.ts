// Exports themselves: made, read, changed, paused, removed, under every home.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { openSecrets } from "../../../src/access/secret.ts";
import { createProject } from "../../../src/projects/store.ts";
import { startMsMax } from "../../support/accounts.ts";
import { addStranger, problemOf } from "../../support/ask.ts";
import { addRun, type ExportDesk, exportWish, openExportDesk } from "../../support/batch_exports.ts";
import { cleanUp } from "../../support/cleanup.ts";

let desk: ExportDesk;

beforeAll(async () => {
  desk = await openExportDesk();
}, startMsMax);
// No two may write to the same bucket and prefix.
afterEach(async () => {
  await desk.sql`UPDATE batch_exports SET deleted = true WHERE destination_type = 'S3'`;
});
afterAll(cleanUp, startMsMax);

const notFound = [404, "invalid_request", "not_found", "Not found.", null];
const wrong = (code: string, detail: string, attr: string | null) => [
  400,
  "validation_error",
  code,
  detail,
  attr,
];

const s3 = {
  type: "S3",
  config: {
    bucket_name: "events",
    region: "us-east-1",
    prefix: "all",
    aws_access_key_id: "AKIAEXAMPLE",
    aws_secret_access_key: "hush hush".replace(" ", "-"),
  },
};

async function fails(method: string, path: string, body: unknown, expected: unknown[]): Promise<void> {
  expect(problemOf(await desk.ask(method, path, body))).toEqual(expected);
}

test(
  "creating answers 201 with every field of the contract, in its order and type",
  async () => {
    const { status, body } = await desk.ask("POST", desk.home, {
      ...exportWish,
      name: "  To our lake ",
      model: "persons",
      interval: "hour",
      destination: s3,
      paused: true,
      last_paused_at: "2025-01-01T00:00:00+01:00",
      start_at: "2025-01-02T00:00:00Z",
      end_at: "2035-01-02T00:00:00.5Z",
      filters: [{ key: "plan", operator: "exact", value: ["paid"], type: "person" }],
      native_query:
        "SELECT distinct_id, properties.plan AS plan FROM persons WHERE properties.plan IS NOT NULL",
    });
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual([
      ..."id team_id name model destination interval paused created_at last_updated_at last_paused_at".split(
        " ",
      ),
      ..."start_at end_at latest_runs native_query hogql_query schema filters timezone offset_day offset_hour".split(
        " ",
      ),
    ]);
    expect(body).toMatchObject({
      team_id: desk.project_id,
      name: "To our lake",
      model: "persons",
      destination: { type: "S3", config: { bucket_name: "events", region: "us-east-1", prefix: "all" } },
      interval: "hour",
      paused: true,
      last_paused_at: "2024-12-31T23:00:00Z",
      start_at: "2025-01-02T00:00:00Z",
      end_at: "2035-01-02T00:00:00.500000Z",
      latest_runs: [],
      native_query:
        "SELECT distinct_id, properties.plan AS plan FROM persons WHERE properties.plan IS NOT NULL",
      schema: {
        fields: [
          { expression: "distinct_id", alias: "distinct_id" },
          { expression: "properties.plan", alias: "plan" },
        ],
        values: {},
      },
      filters: [{ key: "plan", operator: "exact", value: ["paid"], type: "person" }],
    });
    expect(await desk.ask("GET", `${desk.home}${String(body["id"])}/`)).toMatchObject({ status: 200, body });
  },
  startMsMax,
);

test("the defaults are events, not paused, no bounds", async () => {
  expect(await desk.make()).toMatchObject({
    model: "events",
    paused: false,
    last_paused_at: null,
    start_at: null,
    end_at: null,
    native_query: null,
    hogql_query: null,
    schema: null,
    filters: null,
    timezone: "UTC",
    offset_day: 0,
    offset_hour: 0,
    destination: { type: "NoOp", config: {} },
  });
  expect(await desk.make({ model: null })).toMatchObject({ model: "events" });
  expect(await desk.make({ model: "" })).toMatchObject({ model: "events" });
});

test(
  "each wrong field is refused by its name",
  async () => {
    const refused: [Record<string, unknown>, unknown[]][] = [
      [{ name: undefined }, wrong("required", "This field is required.", "name")],
      [{ name: "  " }, wrong("blank", "This field may not be blank.", "name")],
      [{ destination: undefined }, wrong("required", "This field is required.", "destination")],
      [{ destination: { config: {} } }, wrong("required", "This field is required.", "destination__type")],
      [{ interval: undefined }, wrong("required", "This field is required.", "interval")],
      [{ interval: "month" }, wrong("invalid_choice", '"month" is not a valid choice.', "interval")],
      [
        { interval: "every 0 minutes" },
        wrong("invalid_choice", '"every 0 minutes" is not a valid choice.', "interval"),
      ],
      [
        { interval: "every 1441 minutes" },
        wrong("invalid_choice", '"every 1441 minutes" is not a valid choice.', "interval"),
      ],
      [{ model: "sessions" }, wrong("invalid_choice", '"sessions" is not a valid choice.', "model")],
      [{ paused: "perhaps" }, wrong("invalid_input", "Must be a valid boolean.", "paused")],
      [{ filters: { key: "a" } }, wrong("invalid_input", "should be an array", "filters")],
      [
        { start_at: "2025-01-02T00:00:00Z", end_at: "2025-01-01T00:00:00Z" },
        wrong("invalid_input", "'end_at' must not be before 'start_at'.", "end_at"),
      ],
      [
        { native_query: "SELECT event" },
        wrong("invalid_input", "Query must SELECT FROM events", "native_query"),
      ],
      [
        { hogql_query: "SELECT x FROM events" },
        wrong(
          "invalid_input",
          'Invalid HogQL query: Unable to resolve field: "x". (Character 8.)',
          "native_query",
        ),
      ],
    ];
    for (const [body, expected] of refused)
      await fails("POST", desk.home, { ...exportWish, ...body }, expected);
    const filter = { key: "a", operator: "exactly", value: ["b"], type: "event" };
    expect(problemOf(await desk.ask("POST", desk.home, { ...exportWish, filters: [filter] }))[0]).toBe(400);
    const ofEvents = [{ ...filter, operator: "exact" }];
    const reply = await desk.ask("POST", desk.home, { ...exportWish, model: "persons", filters: ofEvents });
    expect(problemOf(reply).slice(0, 3)).toEqual([400, "validation_error", "invalid_input"]);
  },
  startMsMax,
);

test("an export's own fields are complained of before its destination's, by a dry run and a change too", async () => {
  const shapeless = ["elsewhere", { config: [] }];
  const destinations = [
    { type: "Nowhere", config: {} },
    { type: "S3", config: { nothing: 1 } },
    { type: "HTTP", config: { url: "http://127.0.0.1/", token: "t" } },
  ];
  const unread: Wrong[] = [
    [{ name: undefined }, "name"],
    [{ name: " " }, "name"],
    [{ interval: undefined }, "interval"],
    [{ paused: "perhaps" }, "paused"],
    [{ start_at: "soon" }, "start_at"],
  ];
  const meaningless: Wrong[] = [
    [{ model: "sessions" }, "model"],
    [{ interval: "month" }, "interval"],
    [{ start_at: "2025-01-02T00:00:00Z", end_at: "2025-01-01T00:00:00Z" }, "end_at"],
    [{ filters: { key: "a" } }, "filters"],
    [{ filters: [{ key: "a", operator: "regex", value: "(", type: "event" }] }, "filters"],
    [{ native_query: "SELECT event" }, "native_query"],
    [{ native_query: "SELECT lower(timestamp) FROM events" }, "native_query"],
  ];
  const { id } = await desk.make();
  const changed = `${desk.home}${String(id)}/`;
  const refusedAlike = async (destination: unknown, [fields, attr]: Wrong) => {
    const body = { ...exportWish, destination, ...fields };
    const refused = problemOf(await desk.ask("POST", desk.home, body));
    expect([refused[0], refused[4]]).toEqual([400, attr]);
    expect(problemOf(await desk.ask("POST", `${desk.home}?dry_run=1`, body))).toEqual(refused);
    expect(problemOf(await desk.ask("PUT", changed, body))).toEqual(refused);
  };
  for (const destination of [...shapeless, ...destinations]) {
    for (const one of unread) await refusedAlike(destination, one);
  }
  for (const destination of destinations) {
    for (const one of meaningless) await refusedAlike(destination, one);
  }
});

/** What a body says of an export, and the field that is complained of. */
type Wrong = [Record<string, unknown>, string];

test("moments keep their microseconds, whatever else is changed", async () => {
  const moments = {
    start_at: "2025-01-01T00:00:00.123456Z",
    end_at: "2025-01-02T00:00:00.000001Z",
    last_paused_at: "2024-12-31T23:59:59.999999Z",
  };
  const made = await desk.make(moments);
  expect(made).toMatchObject(moments);
  const path = `${desk.home}${made["id"]}/`;
  expect((await desk.ask("PATCH", path, { name: "Renamed", end_at: "2025-01-02T00:00:00Z" })).status).toBe(
    200,
  );
  expect((await desk.ask("GET", path)).body).toMatchObject({ ...moments, end_at: "2025-01-02T00:00:00Z" });
  const dry = await desk.ask("POST", `${desk.home}?dry_run=1`, { ...exportWish, ...moments });
  expect(dry.body).toMatchObject(moments);
});

test("any whole number of minutes up to a day is an interval", async () => {
  for (const interval of [
    "hour",
    "day",
    "week",
    "every 5 minutes",
    "every 15 minutes",
    "every 1440 minutes",
  ]) {
    expect(await desk.make({ interval })).toMatchObject({ interval });
  }
});

test(
  "a query may come under its other name",
  async () => {
    const query = "SELECT event FROM events";
    const made = await desk.make({ hogql_query: query });
    expect(made).toMatchObject({ native_query: query, hogql_query: query, schema: { hogql_query: query } });
    const path = `${desk.home}${String(made["id"])}/`;
    // Scripts change one field of a reply and send all of it back.
    const other = "SELECT uuid FROM events";
    for (const name of ["hogql_query", "native_query"]) {
      const read = (await desk.ask("GET", path)).body;
      const next = read["native_query"] === query ? other : query;
      expect((await desk.ask("PATCH", path, { ...read, [name]: next })).body).toMatchObject({
        native_query: next,
        hogql_query: next,
      });
    }
    const whole = { ...exportWish, hogql_query: query };
    expect((await desk.ask("PUT", path, whole)).body).toMatchObject({ native_query: query });
    expect((await desk.ask("PATCH", path, { native_query: null })).body).toMatchObject({
      native_query: null,
      hogql_query: null,
      schema: null,
    });
  },
  startMsMax,
);

test(
  "a query must fit the model, also when the model changes",
  async () => {
    const made = await desk.make({ native_query: "SELECT event FROM events" });
    const path = `${desk.home}${String(made["id"])}/`;
    await fails(
      "PATCH",
      path,
      { model: "persons" },
      wrong("invalid_input", "Query must only SELECT FROM persons", "native_query"),
    );
    const both = { model: "persons", native_query: "SELECT distinct_id FROM persons" };
    expect((await desk.ask("PATCH", path, both)).body).toMatchObject(both);
  },
  startMsMax,
);

test(
  "a query that the engine can never run is refused with its reason, and without its statement",
  async () => {
    const queries = [
      "SELECT event FROM events WHERE match(event, '(')",
      "SELECT lower(timestamp) FROM events",
      "SELECT event FROM events WHERE event + 1",
      "SELECT event FROM events WHERE uuid",
      "SELECT if(event, 1, 2) AS x FROM events",
      "SELECT formatDateTime(event, '%Y') AS x FROM events",
    ];
    for (const native_query of queries) {
      const [status, , code, detail, attr] = problemOf(
        await desk.ask("POST", desk.home, { ...exportWish, native_query }),
      );
      expect([native_query, status, code, attr]).toEqual([
        native_query,
        400,
        "invalid_input",
        "native_query",
      ]);
      expect(detail).toStartWith("Invalid HogQL query: ");
      expect(detail).not.toMatch(/SELECT|_CAST|null\(|scope/);
    }
    for (const native_query of ["SELECT * FROM events", "SELECT toInt(properties.n) + 1 AS n FROM events"]) {
      await desk.make({ native_query });
    }
    for (const native_query of [
      "SELECT * FROM persons",
      "SELECT id, properties.plan, _inserted_at FROM persons",
    ]) {
      await desk.make({ native_query, model: "persons" });
    }
  },
  startMsMax,
);

test("lists are newest first, in pages, and leave out what was deleted", async () => {
  const key = (await addStranger(desk.sql)).key;
  const { body: project } = await desk.ask("GET", "/api/projects/@current/", undefined, key);
  const home = `/api/projects/${String(project["id"])}/batch_exports/`;
  const ids: unknown[] = [];
  for (const name of ["a", "b", "c"]) {
    ids.unshift((await desk.ask("POST", home, { ...exportWish, name }, key)).body["id"]);
  }
  const { body } = await desk.ask("GET", `${home}?limit=2`, undefined, key);
  const idsOf = (page: Record<string, unknown>) => (page["results"] as { id: string }[]).map(({ id }) => id);
  expect([body["count"], idsOf(body)]).toEqual([3, ids.slice(0, 2)] as never);
  const next = new URL(String(body["next"]));
  const second = (await desk.ask("GET", next.pathname + next.search, undefined, key)).body;
  expect(idsOf(second)).toEqual(ids.slice(2) as never);
  await desk.ask("DELETE", `${home}${String(ids[0])}/`, undefined, key);
  expect(idsOf((await desk.ask("GET", home, undefined, key)).body)).toEqual(ids.slice(1) as never);
});

test("latest_runs are the newest ten, newest first", async () => {
  const made = await desk.make();
  const added: string[] = [];
  for (let i = 0; i < 12; i++) {
    added.unshift(
      await addRun(desk.sql, made["id"], { created_at: new Date(Date.now() - 60_000 + i).toISOString() }),
    );
  }
  const { body } = await desk.ask("GET", `${desk.home}${String(made["id"])}/`);
  const runs = body["latest_runs"] as Record<string, unknown>[];
  expect(runs.map(({ id }) => id)).toEqual(added.slice(0, 10));
  expect(Object.keys(runs[0] ?? {})).toEqual([
    ..."id status records_completed latest_error data_interval_start data_interval_end cursor".split(" "),
    ..."created_at finished_at last_updated_at records_total_count batch_export".split(" "),
  ]);
});

test("PATCH merges the configuration and keeps the secrets; without changes nothing is written", async () => {
  const made = await desk.make({ destination: s3 });
  const path = `${desk.home}${String(made["id"])}/`;
  const same = await desk.ask("PATCH", path, {});
  expect([same.status, same.body]).toEqual([200, made]);
  await age(made["id"]);
  const config = { compression: "gzip", region: "eu-west-1" };
  const { body } = await desk.ask("PATCH", path, { destination: { config } });
  expect(body["destination"]).toEqual({
    type: "S3",
    config: { bucket_name: "events", region: "eu-west-1", prefix: "all", compression: "gzip" },
  });
  expect(body["last_updated_at"]).not.toBe(longAgo);
  expect(await secretsOf(made["id"])).toEqual({
    aws_access_key_id: "AKIAEXAMPLE",
    aws_secret_access_key: s3.config.aws_secret_access_key,
  });
  const { body: back } = await desk.ask("PATCH", path, {
    destination: { type: "S3", config: { compression: null } },
  });
  expect(back["destination"]).not.toMatchObject({ config: { compression: "gzip" } });
});

const longAgo = "2025-01-01T00:00:00Z";

/** As if nothing had happened to it since. */
async function age(id: unknown): Promise<void> {
  await desk.sql`UPDATE batch_exports SET last_updated_at = ${longAgo} WHERE id = ${String(id)}`;
}

async function secretsOf(id: unknown): Promise<Record<string, unknown>> {
  const [row] = await desk.sql<{ destination_secrets: Uint8Array }[]>`
    SELECT destination_secrets FROM batch_exports WHERE id = ${String(id)}`;
  return openSecrets({ dataDir: desk.app.dataDir }).open(row!.destination_secrets);
}

test("secrets rest sealed, and no reply shows one", async () => {
  const made = await desk.make({ destination: s3 });
  const path = `${desk.home}${String(made["id"])}/`;
  const replies = [
    await desk.ask("GET", path),
    await desk.ask("GET", desk.home),
    await desk.ask("PATCH", path, { destination: { config: { aws_secret_access_key: "other-secret" } } }),
  ];
  const shown = JSON.stringify([made, ...replies.map(({ text }) => text)]);
  const [row] = await desk.sql`SELECT e::text AS text FROM batch_exports e WHERE id = ${String(made["id"])}`;
  for (const secret of ["hush", "AKIA", "other-secret", "aws_secret_access_key"]) {
    expect(shown).not.toContain(secret);
    expect(String(row?.["text"])).not.toContain(secret);
  }
  expect(await secretsOf(made["id"])).toMatchObject({ aws_secret_access_key: "other-secret" });
});

test("secrets that can no longer be read are required again, and no other change loses them", async () => {
  const made = await desk.make({ destination: s3 });
  const id = String(made["id"]);
  const path = `${desk.home}${id}/`;
  const other = Buffer.from(
    openSecrets({ secretKey: "another", dataDir: "/nowhere" }).seal({ aws_secret_access_key: "x" }),
  );
  await desk.sql`UPDATE batch_exports SET destination_secrets = ${other} WHERE id = ${id}`;
  expect((await desk.ask("PATCH", path, { name: "Renamed", interval: "day" })).status).toBe(200);
  const [row] = await desk.sql<{ destination_secrets: Buffer }[]>`
    SELECT destination_secrets FROM batch_exports WHERE id = ${id}`;
  expect(other.equals(row!.destination_secrets)).toBe(true);
  const refused = problemOf(await desk.ask("PATCH", path, { destination: { config: { prefix: "new" } } }));
  expect([refused[0], refused[2], refused[4]]).toEqual([
    400,
    "required",
    "destination__config__aws_access_key_id",
  ]);
  const { aws_access_key_id, aws_secret_access_key } = s3.config;
  const again = { destination: { config: { prefix: "new", aws_access_key_id, aws_secret_access_key } } };
  expect((await desk.ask("PATCH", path, again)).status).toBe(200);
  expect(await secretsOf(id)).toEqual({ aws_access_key_id, aws_secret_access_key });
});

test("the type may change, and then nothing of the old one is kept", async () => {
  const made = await desk.make({ destination: s3 });
  const path = `${desk.home}${String(made["id"])}/`;
  const missing = wrong(
    "invalid_input",
    "Configuration missing required field: 'user'",
    "destination__non_field_errors",
  );
  await fails("PATCH", path, { destination: { type: "Postgres" } }, missing);
  const { body } = await desk.ask("PATCH", path, { destination: { type: "NoOp", config: { arg: "x" } } });
  expect(body["destination"]).toEqual({ type: "NoOp", config: { arg: "x" } });
  expect(await secretsOf(made["id"])).toEqual({});
});

test("PUT names the export again and keeps what it does not name", async () => {
  const made = await desk.make({ destination: s3, paused: true });
  const path = `${desk.home}${String(made["id"])}/`;
  await fails("PUT", path, { name: "x" }, wrong("required", "This field is required.", "destination"));
  const body = { name: "Again", interval: "day", destination: { type: "S3", config: { prefix: "new" } } };
  expect((await desk.ask("PUT", path, body)).body).toMatchObject({
    name: "Again",
    interval: "day",
    paused: true,
    destination: { config: { bucket_name: "events", prefix: "new" } },
  });
});

test("DELETE ends it: 204, then 404 for everything, its runs cancelled, its secrets gone", async () => {
  const made = await desk.make({ destination: s3 });
  const path = `${desk.home}${String(made["id"])}/`;
  const run = await addRun(desk.sql, made["id"], { status: "Running" });
  const gone = await desk.ask("DELETE", path);
  expect([gone.status, gone.text]).toEqual([204, ""]);
  for (const [method, below] of [
    ["GET", ""],
    ["PATCH", ""],
    ["PUT", ""],
    ["DELETE", ""],
    ["POST", "pause/"],
    ["POST", "backfills/"],
    ["GET", "runs/"],
    ["GET", "logs/"],
  ] as const) {
    expect(problemOf(await desk.ask(method, path + below, method === "GET" ? undefined : {}))).toEqual(
      notFound,
    );
  }
  const [row] = await desk.sql`SELECT status FROM batch_export_runs WHERE id = ${run}`;
  expect(row?.["status"]).toBe("Cancelled");
  const [left] =
    await desk.sql`SELECT length(destination_secrets) AS bytes FROM batch_exports WHERE id = ${String(made["id"])}`;
  expect(left?.["bytes"]).toBe(0);
});

test("an object that does not exist comes before a body that is wrong", async () => {
  await fails("PATCH", `${desk.home}${crypto.randomUUID()}/`, { interval: "never" }, notFound);
  await fails("PATCH", `${desk.home}no-id/`, "{", notFound);
});

test("pausing and resuming are idempotent, and only a change of state is written", async () => {
  const made = await desk.make();
  const path = `${desk.home}${String(made["id"])}/`;
  const go = async (word: string, body?: unknown) => {
    const reply = await desk.ask("POST", `${path}${word}/`, body);
    const shown = (await desk.ask("GET", path)).body;
    return { reply: [reply.status, reply.body], shown };
  };
  const idle = await go("unpause");
  expect(idle).toEqual({ reply: [200, { paused: false }], shown: made });
  await age(made["id"]);
  const first = await go("pause");
  expect(first.reply).toEqual([200, { paused: true }]);
  expect(first.shown["last_paused_at"]).toBe(first.shown["last_updated_at"]);
  expect(first.shown["last_updated_at"]).not.toBe(longAgo);
  expect(await go("pause")).toEqual(first);
  const on = await go("unpause");
  expect(on.shown).toMatchObject({ paused: false, last_paused_at: first.shown["last_paused_at"] });
  const { body: patched } = await desk.ask("PATCH", path, { paused: true });
  expect(patched["last_paused_at"]).toBe(patched["last_updated_at"]);
  const last_paused_at = "2020-01-01T00:00:00Z";
  expect((await desk.ask("PATCH", path, { paused: false })).body).toMatchObject({ paused: false });
  expect((await desk.ask("PATCH", path, { paused: true, last_paused_at })).body).toMatchObject({
    last_paused_at,
  });
});

test("resuming with a backfill runs the whole intervals that were missed, and no others", async () => {
  const made = await desk.make({ interval: "hour" });
  const id = String(made["id"]);
  const path = `${desk.home}${id}/`;
  await desk.ask("POST", `${path}pause/`);
  await desk.sql`
    UPDATE batch_exports SET last_paused_at = '2025-01-01T05:20:00Z', scheduled_until = '2025-01-01T05:10:00Z'
    WHERE id = ${id}`;
  const hour = () => `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  const before = hour();
  await desk.ask("POST", `${path}unpause/`, { backfill: true });
  const { body } = await desk.ask("GET", `${path}backfills/`);
  const [backfill] = body["results"] as Record<string, unknown>[];
  expect(backfill).toMatchObject({ start_at: "2025-01-01T05:00:00Z" });
  // The hour may have changed meanwhile.
  expect([before, hour()]).toContain(String(backfill!["end_at"]));
  const again = await desk.make({ interval: "week" });
  await desk.ask("POST", `${desk.home}${String(again["id"])}/pause/`);
  await desk.ask("POST", `${desk.home}${String(again["id"])}/unpause/`, { backfill: true });
  expect((await desk.ask("GET", `${desk.home}${String(again["id"])}/backfills/`)).body["results"]).toEqual(
    [],
  );
});

test("an export whose missed intervals are too many stays paused", async () => {
  const made = await desk.make({ interval: "every 5 minutes" });
  const path = `${desk.home}${String(made["id"])}/`;
  await desk.ask("POST", `${path}pause/`);
  await desk.sql`
    UPDATE batch_exports SET last_paused_at = '2020-01-01T00:00:00Z', scheduled_until = '2020-01-01T00:00:00Z'
    WHERE id = ${String(made["id"])}`;
  expect((await desk.ask("POST", `${path}unpause/`, { backfill: true })).status).toBe(400);
  expect((await desk.ask("GET", path)).body["paused"]).toBe(true);
});

test("PATCH pauses with its time, and resuming skips what was missed", async () => {
  const made = await desk.make();
  const id = String(made["id"]);
  await desk.sql`UPDATE batch_exports SET scheduled_until = '2020-01-01' WHERE id = ${id}`;
  const paused = (await desk.ask("PATCH", `${desk.home}${id}/`, { paused: true })).body;
  expect(paused).toMatchObject({ paused: true, last_paused_at: paused["last_updated_at"] });
  await desk.ask("PATCH", `${desk.home}${id}/`, { paused: false });
  const [row] =
    await desk.sql`SELECT scheduled_until > '2025-01-01' AS moved FROM batch_exports WHERE id = ${id}`;
  expect(row?.["moved"]).toBe(true);
});

test("under an organization the project is the named one, the key owner's, or the oldest", async () => {
  const { sql, organization_id, project_id } = desk;
  const home = `/api/organizations/${organization_id}/batch_exports/`;
  const other = await createProject(sql, { organization_id, name: "Other" });
  const stranger = await addStranger(sql);
  const [theirs] = await sql<
    { id: number }[]
  >`SELECT id FROM projects WHERE organization_id = ${stranger.organization_id}`;
  const teamOf = async (body: Record<string, unknown>) =>
    (await desk.ask("POST", home, { ...exportWish, ...body })).body["team_id"];
  expect(await teamOf({ team_id: other.id })).toBe(other.id);
  expect(await teamOf({})).toBe(project_id);
  const foreign = await desk.ask("POST", home, { ...exportWish, team_id: theirs?.id });
  const detail = `Invalid pk "${theirs?.id}" - object does not exist.`;
  expect(problemOf(foreign)).toEqual(wrong("does_not_exist", detail, "team_id"));
  await sql`UPDATE users SET current_project_id = ${other.id} WHERE id = (SELECT min(id) FROM users)`;
  expect(await teamOf({})).toBe(other.id);
  await sql`UPDATE users SET current_project_id = ${theirs?.id ?? 0} WHERE id = (SELECT min(id) FROM users)`;
  expect(await teamOf({})).toBe(project_id);
  await sql`UPDATE users SET current_project_id = ${project_id} WHERE id = (SELECT min(id) FROM users)`;
});

test("an organization shows the exports of all its projects; a project only its own", async () => {
  const { sql, organization_id, project_id } = desk;
  const other = await createProject(sql, { organization_id, name: "Another" });
  const organization = `/api/organizations/${organization_id}/batch_exports/`;
  const made = (await desk.ask("POST", organization, { ...exportWish, team_id: other.id })).body;
  const id = String(made["id"]);
  expect((await desk.ask("GET", `${organization}${id}/`)).body).toEqual(made);
  expect((await desk.ask("GET", `/api/environments/${other.id}/batch_exports/${id}/`)).body).toEqual(made);
  expect(problemOf(await desk.ask("GET", `/api/projects/${project_id}/batch_exports/${id}/`))).toEqual(
    notFound,
  );
  const patched = await desk.ask("PATCH", `${organization}${id}/`, { name: "Renamed", team_id: project_id });
  expect(patched.body).toMatchObject({ name: "Renamed", team_id: other.id });
  expect((await desk.ask("GET", `/api/organizations/@current/batch_exports/${id}/`)).status).toBe(200);
  expect((await desk.ask("DELETE", `${organization}${id}/`)).status).toBe(204);
});

test("changes at the same time are all kept", async () => {
  const made = await desk.make({ destination: s3 });
  const path = `${desk.home}${String(made["id"])}/`;
  const configs = [{ compression: "gzip" }, { encryption: "AES256" }, { kms_key_id: "key" }];
  await Promise.all(configs.map((config) => desk.ask("PATCH", path, { destination: { config } })));
  const { body } = await desk.ask("GET", path);
  expect(body["destination"]).toMatchObject({ config: Object.assign({}, ...configs) as object });
});

test("every route works with and without a last slash", async () => {
  const made = await desk.make();
  const path = `${desk.home}${String(made["id"])}`;
  expect((await desk.ask("GET", path)).status).toBe(200);
  expect((await desk.ask("GET", desk.home.slice(0, -1))).status).toBe(200);
  expect((await desk.ask("GET", `${path}/runs`)).status).toBe(200);
});
