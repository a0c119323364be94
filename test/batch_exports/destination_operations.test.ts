// What may be said of a destination, over HTTP: every rule and its words, where data may go, what a dry run does.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { openDestination } from "../../src/batch_exports/destinations/destinations.ts";
import { startMsMax } from "../support/accounts.ts";
import { problemOf } from "../support/ask.ts";
import { type ExportDesk, exportWish, openExportDesk } from "../support/batch_exports.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

let desk: ExportDesk;
/** Allows files and private addresses. */
let free: ExportDesk;

beforeAll(async () => {
  desk = await openExportDesk();
  free = await openExportDesk({ EXPORT_FILE_DIR: makeFolder(), ALLOW_PRIVATE_DESTINATIONS: "1" });
}, startMsMax * 2);
// No two may write to the same bucket and prefix.
afterEach(async () => {
  await desk.sql`UPDATE batch_exports SET deleted = true WHERE destination_type IN ('S3', 'AzureBlob')`;
});
afterAll(cleanUp, startMsMax);

const s3 = { bucket_name: "box", region: "us-east-1", prefix: "p" };
const keys = { aws_access_key_id: "A", aws_secret_access_key: "S" };
const postgres = { user: "u", password: "p", host: "db.example.com", database: "d" };
const http = { url: "https://example.com/hook", token: "t" };
const azure = { account_name: "account", account_key: "a2V5", container_name: "box" };

const wrong = (detail: string, attr = "destination__non_field_errors", code = "invalid_input") => [
  400,
  "validation_error",
  code,
  detail,
  attr,
];

async function refusal(type: unknown, config: unknown, at = desk): Promise<unknown[]> {
  return problemOf(await at.ask("POST", at.home, { ...exportWish, destination: { type, config } }));
}

async function shown(type: string, config: unknown, at = desk): Promise<unknown> {
  const made = await at.make({ destination: { type, config } });
  // The next one may write there.
  await at.ask("DELETE", `${at.home}${String(made["id"])}/`);
  return (made["destination"] as Record<string, unknown>)["config"];
}

describe("every type has its own fields", () => {
  test("all of them, with their secrets kept back", async () => {
    const files = {
      file_format: "CSV",
      compression: "gzip",
      max_file_size_mb: 5,
      exclude_events: ["a"],
      include_events: [],
    };
    const open = {
      ...s3,
      encryption: "aws:kms",
      kms_key_id: "k",
      endpoint_url: "https://s3.example.com",
      use_virtual_style_addressing: true,
      ...files,
    };
    expect(await shown("S3", { ...open, ...keys })).toEqual(open);
    const box = {
      account_name: "account",
      container_name: "box",
      prefix: "x",
      endpoint_url: "https://box.example.com",
      ...files,
    };
    expect(await shown("AzureBlob", { ...box, account_key: "a2V5" })).toEqual(box);
    const table = {
      host: "db.example.com",
      database: "d",
      port: 5433,
      schema: "s",
      table_name: "t",
      has_self_signed_cert: true,
      include_events: ["x"],
    };
    expect(await shown("Postgres", { ...table, user: "u", password: "p" })).toEqual(table);
    expect(await shown("HTTP", { ...http, exclude_events: [] })).toEqual({
      url: http.url,
      exclude_events: [],
    });
    expect(await shown("NoOp", { arg: "x" })).toEqual({ arg: "x" });
    const folder = { path: "a/b", prefix: "c/", ...files };
    expect(await shown("File", folder, free)).toEqual(folder);
  });

  test("what is required must be there", async () => {
    const required: [string, Record<string, unknown>][] = [
      ["S3", { bucket_name: s3.bucket_name }],
      ["AzureBlob", azure],
      ["Postgres", postgres],
      ["HTTP", http],
    ];
    for (const [type, config] of required) {
      for (const name of Object.keys(config)) {
        const { [name]: _left, ...rest } = config;
        expect(await refusal(type, rest)).toEqual(wrong(`Configuration missing required field: '${name}'`));
      }
    }
    const half = await refusal("S3", { ...s3, aws_access_key_id: "A" });
    expect(half).toEqual(wrong("Configuration missing required field: 'aws_secret_access_key'"));
  });

  test("a bucket needs a name only; region and prefix have the usual ones", async () => {
    const bare = { bucket_name: s3.bucket_name };
    expect(await shown("S3", bare)).toEqual(bare);
    expect(openDestination("S3", bare, {})).toMatchObject({ config: { region: "us-east-1", prefix: "" } });
  });

  test("what is unknown is named, sorted", async () => {
    const detail = "Configuration has unknown field/s: 'hello', 'hello2'";
    for (const [type, config] of [
      ["S3", s3],
      ["NoOp", {}],
      ["Postgres", {}],
    ] as const) {
      expect(await refusal(type, { hello2: 1, ...config, hello: 2 })).toEqual(wrong(detail));
    }
    expect(await refusal("NoOp", { constructor: 1, __proto__x: 1 })).toEqual(
      wrong("Configuration has unknown field/s: '__proto__x', 'constructor'"),
    );
  });

  test("a value must be of its kind; texts that say a number or a yes are taken", async () => {
    const got = (kind: string, expected: string) =>
      wrong(`Configuration has invalid type: got '${kind}', expected '${expected}'`);
    expect(await refusal("S3", { ...s3, bucket_name: 123 })).toEqual(got("int", "str"));
    expect(await refusal("S3", { ...s3, bucket_name: null })).toEqual(got("NoneType", "str"));
    expect(await refusal("S3", { ...s3, max_file_size_mb: "many" })).toEqual(got("str", "int"));
    expect(await refusal("S3", { ...s3, max_file_size_mb: 1.5 })).toEqual(got("float", "int"));
    expect(await refusal("S3", { ...s3, max_file_size_mb: true })).toEqual(got("bool", "int"));
    expect(await refusal("S3", { ...s3, use_virtual_style_addressing: 1 })).toEqual(got("int", "bool"));
    expect(await refusal("S3", { ...s3, include_events: "a" })).toEqual(got("str", "list"));
    expect(await refusal("S3", { ...s3, include_events: [1] })).toEqual(got("int", "str"));
    expect(await refusal("NoOp", { arg: { a: 1 } })).toEqual(got("dict", "str"));
    const said = { ...postgres, port: "5433", has_self_signed_cert: "true" };
    expect(await shown("Postgres", said)).toMatchObject({ port: 5433, has_self_signed_cert: true });
    expect(await shown("Postgres", { ...said, has_self_signed_cert: "0" })).toMatchObject({
      has_self_signed_cert: false,
    });
  });

  test("config must be a dictionary, and so must the destination", async () => {
    expect(await refusal("S3", [])).toEqual(
      wrong('Expected a dictionary of items but got type "list".', "destination__config", "not_a_dict"),
    );
    expect(problemOf(await desk.ask("POST", desk.home, { ...exportWish, destination: "S3" }))).toEqual(
      wrong("Invalid data. Expected a dictionary, but got str."),
    );
    expect(await desk.make({ destination: { type: "NoOp" } })).toMatchObject({ destination: { config: {} } });
  });
});

test("Azure's connection string is taken apart, and not kept", async () => {
  const keyed =
    "DefaultEndpointsProtocol=https;AccountName=account;AccountKey=a2V5LWhlcmU=;EndpointSuffix=core.windows.net";
  const made = await desk.make({
    destination: { type: "AzureBlob", config: { container_name: "box", connection_string: keyed } },
  });
  expect(made["destination"]).toEqual({
    type: "AzureBlob",
    config: { container_name: "box", account_name: "account" },
  });
  const local = keyed.replace(
    ";EndpointSuffix=core.windows.net",
    ";BlobEndpoint=https://box.example.com/account",
  );
  const other = { container_name: "box", connection_string: local };
  expect(await shown("AzureBlob", other)).toMatchObject({ endpoint_url: "https://box.example.com/account" });
  const china = keyed.replace("core.windows.net", "core.chinacloudapi.cn");
  expect(await shown("AzureBlob", { container_name: "box", connection_string: china })).toMatchObject({
    endpoint_url: "https://account.blob.core.chinacloudapi.cn",
  });
  const path = `${desk.home}${String(made["id"])}/`;
  const moved = await desk.ask("PATCH", path, { destination: { config: { connection_string: local } } });
  expect(moved.status).toBe(200);
  for (const connection_string of ["", "AccountName=account", "nonsense", 5]) {
    const [status, , code, , attr] = await refusal("AzureBlob", { container_name: "box", connection_string });
    expect([status, code, attr]).toEqual([400, "invalid_input", "destination__config__connection_string"]);
  }
  const inside = keyed.replace(";EndpointSuffix=core.windows.net", ";BlobEndpoint=http://127.0.0.1:10000/x");
  expect((await refusal("AzureBlob", { container_name: "box", connection_string: inside }))[4]).toBe(
    "destination__config__endpoint_url",
  );
});

test("formats and what each can be compressed with", async () => {
  const formats = "Supported file formats are ['Parquet', 'JSONLines', 'CSV']";
  expect(await refusal("S3", { ...s3, file_format: "unknown" })).toEqual(
    wrong(`File format unknown is not supported. ${formats}`, "destination"),
  );
  const not = (compression: string, format: string, list: string) =>
    wrong(
      `Compression ${compression} is not supported for file format ${format}. Supported compressions are ${list}`,
      "destination",
    );
  for (const format of ["JSONLines", "CSV"]) {
    const config = { ...s3, file_format: format, compression: "zstd" };
    expect(await refusal("S3", config)).toEqual(not("zstd", format, "['gzip', 'brotli']"));
  }
  const parquet = ["zstd", "lz4", "snappy", "gzip", "brotli"];
  const list = `[${parquet.map((one) => `'${one}'`).join(", ")}]`;
  expect(await refusal("AzureBlob", { ...azure, file_format: "Parquet", compression: "zip" })).toEqual(
    not("zip", "Parquet", list),
  );
  for (const compression of parquet) {
    expect(await shown("S3", { ...s3, file_format: "Parquet", compression })).toMatchObject({ compression });
  }
  // What holds where nothing is said.
  expect(await refusal("S3", { ...s3, compression: "lz4" })).toEqual(
    not("lz4", "JSONLines", "['gzip', 'brotli']"),
  );
  expect(await shown("S3", { ...s3, compression: null })).toEqual(s3);
});

test("a value that could turn into something else is refused, and says where", async () => {
  const odd: [string, Record<string, unknown>, string][] = [
    ["S3", { ...s3, bucket_name: "evil.com/x?" }, "bucket_name"],
    ["S3", { ...s3, bucket_name: "b" }, "bucket_name"],
    ["S3", { ...s3, bucket_name: "bb" }, "bucket_name"],
    ["S3", { ...s3, bucket_name: "b".repeat(64) }, "bucket_name"],
    ["S3", { ...s3, region: "evil.com/" }, "region"],
    ["S3", { ...s3, max_file_size_mb: 0 }, "max_file_size_mb"],
    ["HTTP", { url: "https://a.example/batch", token: "t", max_batch_size_mb: 5 }, "max_batch_size_mb"],
    ["S3", { ...s3, encryption: "ROT13" }, "encryption"],
    ["S3", { ...s3, endpoint_url: "ftp://example.com" }, "endpoint_url"],
    ["S3", { ...s3, endpoint_url: "https://u:p@example.com" }, "endpoint_url"],
    ["S3", { ...s3, endpoint_url: "https://example.com/?a" }, "endpoint_url"],
    ["S3", { ...s3, endpoint_url: "nonsense" }, "endpoint_url"],
    ["S3", { ...s3, prefix: "a\nb" }, "prefix"],
    ["AzureBlob", { ...azure, account_name: "evil.com/" }, "account_name"],
    ["AzureBlob", { ...azure, container_name: "../x" }, "container_name"],
    ["AzureBlob", { ...azure, prefix: "a/../../other" }, "prefix"],
    ["Postgres", { ...postgres, port: 0 }, "port"],
    ["Postgres", { ...postgres, port: 70_000 }, "port"],
    ["Postgres", { ...postgres, table_name: "" }, "table_name"],
    // Postgres would cut it, and two names could be one table.
    ["Postgres", { ...postgres, table_name: "é".repeat(32) }, "table_name"],
    ["Postgres", { ...postgres, host: "a,b" }, "host"],
    ["Postgres", { ...postgres, host: "/var/run/postgresql" }, "host"],
    ["Postgres", { ...postgres, host: "db{1,2}" }, "host"],
    ["HTTP", { ...http, url: "javascript:alert(1)" }, "url"],
    ["HTTP", { ...http, url: "" }, "url"],
  ];
  for (const [type, config, name] of odd) {
    const [status, , code, , attr] = await refusal(type, config);
    expect([name, status, code, attr]).toEqual([name, 400, "invalid_input", `destination__config__${name}`]);
  }
  for (const path of ["/etc", "..", "a/../b", "a\\b", "./a", "a\u0001"]) {
    expect((await refusal("File", { path }, free)).slice(0, 3)).toEqual([
      400,
      "validation_error",
      "invalid_input",
    ]);
  }
});

test("a prefix that names something unknown, or reads as a pattern, is refused when the export is made", async () => {
  const known =
    "{year}, {month}, {day}, {hour}, {minute}, {second}, {data_interval_start}, {data_interval_end}, {table}";
  const told = (complaint: string, field = "prefix") =>
    wrong(
      `Configuration has invalid value for field '${field}': ${complaint}`,
      `destination__config__${field}`,
    );
  const pattern = `must not contain * ? { }, except in its placeholders: ${known}`;
  const odd: [prefix: string, complaint: string][] = [
    ["a/{nope}/b", `'{nope}' is no placeholder. There are ${known}`],
    ["{}", `'{}' is no placeholder. There are ${known}`],
    ["{Year}", `'{Year}' is no placeholder. There are ${known}`],
    ["{constructor}", `'{constructor}' is no placeholder. There are ${known}`],
    ["{a{year}", pattern],
    ["{year", pattern],
    ["year}", pattern],
    ["a*b", pattern],
    ["a/?/b", pattern],
    ["{year}}", pattern],
  ];
  for (const [prefix, complaint] of odd) {
    expect(await refusal("S3", { ...s3, prefix })).toEqual(told(complaint));
    expect(await refusal("AzureBlob", { ...azure, prefix })).toEqual(told(complaint));
    expect(await refusal("File", { path: "odd", prefix }, free)).toEqual(told(complaint));
  }
  for (const prefix of ["a//b", "{year}///x"]) {
    expect(await refusal("S3", { ...s3, prefix })).toEqual(told("must not contain an empty step: //"));
  }
  await desk.make({ destination: { type: "S3", config: { ...s3, prefix: "//a/b//" } } });
  for (const path of ["a*", "a?", "{year}", "a}", "a/{b"]) {
    expect(await refusal("File", { path }, free)).toEqual(
      told("must not contain * ? { }; placeholders belong in prefix", "path"),
    );
  }
  const made = await desk.make({ destination: { type: "S3", config: { ...s3, prefix: "{table}/{year}" } } });
  const changed = await desk.ask("PATCH", `${desk.home}${made["id"]}/`, {
    destination: { config: { prefix: "{nope}" } },
  });
  expect(problemOf(changed)).toEqual(told(`'{nope}' is no placeholder. There are ${known}`));
});

test("a prefix or a path that makes names longer than stores take is refused", async () => {
  // With the interval, the number of a file and the endings 82 bytes more, of the 1,024 that a key may have.
  expect((await refusal("S3", { ...s3, prefix: "é".repeat(472) }))[4]).toBe("destination__config__prefix");
  await desk.make({ destination: { type: "S3", config: { ...s3, prefix: "é".repeat(471) } } });
  // The name of one folder: 255 bytes.
  expect((await refusal("File", { path: `a/${"é".repeat(128)}` }, free))[4]).toBe(
    "destination__config__path",
  );
  expect((await refusal("File", { prefix: `${"x".repeat(252)}{year}` }, free))[4]).toBe(
    "destination__config__prefix",
  );
  await free.make({ destination: { type: "File", config: { path: `long/${"é".repeat(127)}` } } });
});

test("types that are not served are refused, naming those that are", async () => {
  for (const type of ["Snowflake", "BigQuery", "Redshift", "Databricks", "s3", "constructor", ""]) {
    const [status, , code, detail, attr] = await refusal(type, {});
    expect([status, code, attr]).toEqual([400, "invalid_choice", "destination__type"]);
    expect(detail).toStartWith(`"${type}" is not a valid choice.`);
    for (const served of ["S3", "AzureBlob", "Postgres", "HTTP", "File", "NoOp"])
      expect(detail).toContain(`"${served}"`);
  }
});

test("files are for servers whose operator allows them", async () => {
  const [status, , code, detail, attr] = await refusal("File", {});
  expect([status, code, attr]).toEqual([400, "invalid_choice", "destination__type"]);
  expect(detail).toContain("EXPORT_FILE_DIR");
});

test("no two exports write the same files", async () => {
  const input = (config: object, more: object = {}) => ({
    ...exportWish,
    destination: { type: "File", config },
    ...more,
  });
  const made = await free.make(input({ path: "shared", prefix: "daily" }));
  const same = [
    { path: "shared", prefix: "daily" },
    { path: "shared/", prefix: "daily//" },
    { path: "shared/daily" },
    { prefix: "shared/daily", file_format: "Parquet" },
  ];
  const refused = (name: string) => [
    400,
    "validation_error",
    "invalid_input",
    "Another batch export writes its files there. Choose another path or prefix.",
    `destination__config__${name}`,
  ];
  for (const config of same) {
    const name = "path" in config ? "path" : "prefix";
    expect(problemOf(await free.ask("POST", free.home, input(config)))).toEqual(refused(name));
  }
  // What is made for one model is kept apart from the other.
  await free.make(input({ path: "models", prefix: "{table}" }));
  const persons = await free.make(input({ path: "models", prefix: "{table}" }, { model: "persons" }));
  expect(problemOf(await free.ask("PATCH", `${free.home}${persons["id"]}/`, { model: "events" }))).toEqual(
    refused("path"),
  );
  const other = await free.make(input({ path: "shared", prefix: "weekly" }));
  const moved = { destination: { config: { prefix: "daily" } } };
  expect(problemOf(await free.ask("PATCH", `${free.home}${other["id"]}/`, moved))).toEqual(refused("path"));
  // Its own files are no reason against it.
  const renamed = await free.ask("PATCH", `${free.home}${made["id"]}/`, { ...input({ path: "shared" }) });
  expect(renamed.status).toBe(200);
  expect((await free.ask("DELETE", `${free.home}${made["id"]}/`)).status).toBe(204);
  expect((await free.ask("PATCH", `${free.home}${other["id"]}/`, moved)).status).toBe(200);
  const at_once = await Promise.all(
    Array.from({ length: 4 }, () => free.ask("POST", free.home, input({ path: "race" }))),
  );
  expect(at_once.map(({ status }) => status).toSorted()).toEqual([201, 400, 400, 400]);
});

test("templates that could be filled in to the same folder are the same place", async () => {
  const input = (config: object) => ({ ...exportWish, destination: { type: "File", config } });
  const post = async (config: object) => (await free.ask("POST", free.home, input(config))).status;
  expect(await post({ path: "templates", prefix: "{year}/{month}" })).toBe(201);
  expect(await post({ path: "templates", prefix: "2026/01" })).toBe(400);
  expect(await post({ path: "templates/2026/01" })).toBe(400);
  expect(await post({ path: "templates/2026", prefix: "{hour}" })).toBe(400);
  expect(await post({ path: "Templates", prefix: "{year}/{day}" })).toBe(400);
  expect(await post({ path: "templates", prefix: "last/{month}" })).toBe(201);
  expect(await post({ path: "templates", prefix: "{year}" })).toBe(201);
  expect(await post({ path: "x".repeat(1001) })).toBe(400);
});

test("formulas are escaped in CSV, and in nothing else", async () => {
  const csv = { ...s3, file_format: "CSV", escape_formulas: true };
  expect(await shown("S3", csv)).toMatchObject({ escape_formulas: true });
  expect(await shown("S3", { ...s3, escape_formulas: false })).toMatchObject({ escape_formulas: false });
  for (const [type, config] of [
    ["S3", { ...s3, escape_formulas: true }],
    ["AzureBlob", { ...azure, file_format: "Parquet", escape_formulas: true }],
  ] as const) {
    const [status, , code, , attr] = await refusal(type, config);
    expect([status, code, attr]).toEqual([400, "invalid_input", "destination__config__escape_formulas"]);
  }
  expect((await refusal("HTTP", { ...http, escape_formulas: true }))[0]).toBe(400);
});

test("HTTP takes events only", async () => {
  const destination = { type: "HTTP", config: http };
  const reply = await desk.ask("POST", desk.home, { ...exportWish, model: "persons", destination });
  expect(problemOf(reply)).toEqual(wrong("HTTP batch exports only support the events model", "model"));
});

test("private addresses are refused on create and on change, however they are spelled; names nobody knows pass", async () => {
  const places: [string, Record<string, unknown>, string][] = [
    ["S3", { ...s3, endpoint_url: "http://127.0.0.1:9000" }, "endpoint_url"],
    ["S3", { ...s3, endpoint_url: "http://0x7f.1/" }, "endpoint_url"],
    ["S3", { ...s3, endpoint_url: "http://[::ffff:169.254.169.254]/" }, "endpoint_url"],
    ["AzureBlob", { ...azure, endpoint_url: "http://10.0.0.1/" }, "endpoint_url"],
    ["HTTP", { ...http, url: "http://localhost:1234/" }, "url"],
    ["HTTP", { ...http, url: "http://2130706433/" }, "url"],
    ["Postgres", { ...postgres, host: "192.168.0.1" }, "host"],
    ["Postgres", { ...postgres, host: "0177.0.0.1" }, "host"],
  ];
  for (const [type, config, name] of places) {
    const [status, , code, detail, attr] = await refusal(type, config);
    expect([status, code, attr]).toEqual([400, "invalid_input", `destination__config__${name}`]);
    expect(detail).toContain("private or local address");
    const made = await desk.make();
    const patched = await desk.ask("PATCH", `${desk.home}${String(made["id"])}/`, {
      destination: { type, config },
    });
    expect(problemOf(patched)[4]).toBe(`destination__config__${name}`);
    expect(await shown(type, config, free)).toMatchObject({ [name]: config[name] });
  }
  const nowhere = { ...s3, endpoint_url: "https://no-such-host.invalid" };
  expect(await shown("S3", nowhere)).toEqual(nowhere);
});

test("secrets are required again when the data would go elsewhere", async () => {
  const cases: [string, Record<string, unknown>, Record<string, unknown>, string, Record<string, unknown>][] =
    [
      ["S3", { ...s3, ...keys }, { endpoint_url: "https://other.example.com" }, "aws_access_key_id", keys],
      ["Postgres", postgres, { host: "other.example.com" }, "user", { user: "u", password: "p" }],
      ["Postgres", postgres, { port: 5433 }, "user", { user: "u", password: "p" }],
      ["HTTP", http, { url: "https://other.example.com/hook" }, "token", { token: "t" }],
      ["AzureBlob", azure, { account_name: "other" }, "account_key", { account_key: "a2V5" }],
    ];
  for (const [type, config, change, secret, again] of cases) {
    const made = await desk.make({ destination: { type, config } });
    const path = `${desk.home}${String(made["id"])}/`;
    const [place] = Object.keys(change);
    const refused = problemOf(await desk.ask("PATCH", path, { destination: { config: change } }));
    const detail = `This field is required again when '${place}' changes.`;
    expect(refused).toEqual(wrong(detail, `destination__config__${secret}`, "required"));
    expect((await desk.ask("PATCH", path, { destination: { config: { ...change, ...again } } })).status).toBe(
      200,
    );
    // Said again as it is, nothing moves.
    expect((await desk.ask("PATCH", path, { destination: { config: change } })).status).toBe(200);
    await desk.ask("DELETE", path);
  }
  const made = await desk.make({ destination: { type: "Postgres", config: postgres } });
  const same = { destination: { config: { port: 5432 } } };
  expect((await desk.ask("PATCH", `${desk.home}${String(made["id"])}/`, same)).status).toBe(200);
  const unsigned = await desk.make({ destination: { type: "S3", config: s3 } });
  const moved = { destination: { config: { endpoint_url: "https://other.example.com" } } };
  expect((await desk.ask("PATCH", `${desk.home}${String(unsigned["id"])}/`, moved)).status).toBe(200);
});
