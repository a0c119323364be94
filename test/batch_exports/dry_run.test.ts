// A dry run of creating an export: the destination is tried out, nothing is stored. Creating itself tries nothing.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openAddresses } from "../../src/access/address.ts";
import { openGate } from "../../src/access/gate.ts";
import { openSecrets } from "../../src/access/secret.ts";
import type { Destination } from "../../src/batch_exports/destinations/destination.ts";
import { openDestination, probe } from "../../src/batch_exports/destinations/destinations.ts";
import { exportLimits } from "../../src/batch_exports/limits.ts";
import { batchExportRoutes } from "../../src/batch_exports/open.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog as log } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { openClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { openTestParser } from "../support/sql_parser.ts";

let accounts: FirstAccounts;
let app: { handle(request: Request): Response | Promise<Response> };
let probed: Destination[] = [];
let reason: string | undefined;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  later(() => accounts.close());
  const { sql, dataDir } = accounts;
  // Nobody listens there: what does not name a query needs no engine.
  const clickhouse = openClickHouse("http://default:x@127.0.0.1:9/sluice");
  later(() => clickhouse.close());
  const routes = batchExportRoutes({
    gate: openGate({ sql, clock: systemClock, log }),
    sql,
    // Files are checked, and never written.
    clickhouse: Object.assign(clickhouse, { embedded: true }),
    clock: systemClock,
    addresses: openAddresses({ allowPrivate: false }),
    secrets: openSecrets({ dataDir }),
    exportFileDir: dataDir,
    parse: openTestParser().parse,
    probe: async (destination) => {
      probed.push(destination);
      return reason;
    },
    wake: () => {},
  });
  const problem = openProblems({ log, routes: () => routes.routes });
  app = new Elysia().onError((failure) => problem(failure)).use(routes);
}, startMsMax);
afterAll(cleanUp, startMsMax);
beforeEach(() => {
  probed = [];
  reason = undefined;
});

const config = { bucket_name: "box", region: "us-east-1", prefix: "p", file_format: "Parquet" };
const keys = { aws_access_key_id: "A", aws_secret_access_key: "S" };
const input = {
  name: "Tried",
  interval: "hour",
  destination: { type: "S3", config: { ...config, ...keys } },
};

async function create(
  query: string,
  body: unknown = input,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const request = new Request(`http://localhost/api/projects/${accounts.project_id}/batch_exports/${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${accounts.personal_api_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const reply = await app.handle(request);
  // The next one may write there.
  await accounts.sql`UPDATE batch_exports SET deleted = true WHERE destination_type = 'S3'`;
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

async function stored(): Promise<number> {
  const [row] = await accounts.sql<{ count: number }[]>`SELECT count(*)::integer AS count FROM batch_exports`;
  return row!.count;
}

test("a dry run tests the destination with all of its settings, and stores nothing", async () => {
  const { status, body } = await create("?dry_run=1");
  expect(status).toBe(200);
  expect(body).toMatchObject({ name: "Tried", destination: { type: "S3", config }, latest_runs: [] });
  expect(JSON.stringify(body)).not.toContain("aws_");
  expect(probed).toMatchObject([
    {
      config: {
        ...config,
        ...keys,
        file_format: "Parquet",
        endpoint_url: null,
        encryption: null,
        kms_key_id: null,
        use_virtual_style_addressing: false,
        exclude_events: [],
        include_events: [],
        compression: null,
        max_file_size_mb: null,
        escape_formulas: false,
      },
    },
  ]);
  expect(await stored()).toBe(0);
});

test("a destination that does not work is a 400 that says why", async () => {
  reason = "The bucket does not exist";
  const { status, body } = await create("?dry_run=true");
  expect([status, body]).toEqual([
    400,
    {
      type: "validation_error",
      code: "invalid_input",
      detail: "The destination does not work: The bucket does not exist",
      attr: "destination",
    },
  ]);
  expect(await stored()).toBe(0);
});

test("what is wrong anyway is not tried", async () => {
  expect((await create("?dry_run=1", { ...input, interval: "never" })).status).toBe(400);
  const inside = { type: "HTTP", config: { url: "http://127.0.0.1/", token: "t" } };
  expect((await create("?dry_run=1", { ...input, destination: inside })).status).toBe(400);
  expect(probed).toEqual([]);
});

test("what creating refuses for what is there already, a dry run refuses alike, and tries nothing", async () => {
  const { sql, project_id } = accounts;
  const file = { ...input, destination: { type: "File", config: { path: "taken", prefix: "{year}" } } };
  const before = await stored();
  expect((await create("", file)).status).toBe(201);
  const refused = await create("", file);
  expect([refused.status, refused.body["attr"]]).toEqual([400, "destination__config__path"]);
  expect(await create("?dry_run=1", file)).toEqual(refused);
  await sql`
    INSERT INTO batch_exports (id, project_id, created_by, created_at, last_updated_at, name, model, "interval", paused,
      destination_type, destination_config, destination_secrets)
    SELECT gen_random_uuid(), project_id, created_by, created_at, last_updated_at, name, model, "interval", true,
      'NoOp', '{}'::jsonb, destination_secrets
    FROM (SELECT * FROM batch_exports WHERE project_id = ${project_id} LIMIT 1) AS one,
      generate_series(1, ${exportLimits.exportsPerProjectMax - before - 1}::integer)`;
  const full = await create("");
  expect([full.status, full.body["detail"]]).toEqual([
    400,
    "This project has as many batch exports as it can have.",
  ]);
  expect(await create("?dry_run=1")).toEqual(full);
  expect(probed).toEqual([]);
  await sql`DELETE FROM batch_exports`;
});

test("a prefix that can never work is refused by a dry run too", async () => {
  const odd = { ...input, destination: { type: "S3", config: { ...config, ...keys, prefix: "{nope}" } } };
  const refused = await create("", odd);
  expect([refused.status, refused.body["attr"]]).toEqual([400, "destination__config__prefix"]);
  expect(await create("?dry_run=1", odd)).toEqual(refused);
  expect(probed).toEqual([]);
});

test("creating tries nothing", async () => {
  for (const query of ["", "?dry_run=0", "?dry_run=false"]) {
    expect((await create(query)).status).toBe(201);
  }
  expect(await create("?dry_run=maybe")).toMatchObject({ status: 400, body: { attr: "dry_run" } });
  expect(probed).toEqual([]);
});

test(
  "a query is taken while the engine cannot be asked",
  async () => {
    expect((await create("", { ...input, native_query: "SELECT lower(timestamp) FROM events" })).status).toBe(
      201,
    );
    expect((await create("", { ...input, native_query: "SELECT nobody FROM events" })).status).toBe(400);
  },
  startMsMax,
);

test("no unchecked name is passed to the engine", async () => {
  const clickhouse = openClickHouse("http://default:x@127.0.0.1:9/sluice");
  later(() => clickhouse.close());
  const addresses = openAddresses({ allowPrivate: false, resolve: async () => [] });
  const endpoint_url = "https://answers-differently.example.com";
  const destination = openDestination("S3", { ...config, endpoint_url }, keys);
  const tried = probe(destination, {
    clickhouse,
    addresses,
    clock: systemClock,
    exportFileDir: undefined,
  });
  await expect(tried).rejects.toThrow('"answers-differently.example.com" does not resolve');
});
