// What an operator sets is checked at the start, all of it at once, and no secret is shown.

import { expect, test } from "bun:test";
import { readConfig } from "../src/config.ts";
import { UserError } from "../src/core/fault.ts";

/** The lines of the refusal. */
function wrongLines(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (thrown) {
    if (!(thrown instanceof UserError)) throw thrown;
    const [first, ...lines] = thrown.message.split("\n").map((line) => line.trim());
    expect(first).toBe("wrong configuration:");
    return lines;
  }
  return [];
}

const secret = "0123456789abcdef";

test("nothing has to be set", () => {
  const config = readConfig({});
  expect(config).toMatchObject({ host: "127.0.0.1", port: 8000, dataDir: "./data", captureAck: "journal" });
  expect(config).toMatchObject({ logLevel: "info", logFormat: "json", trustedProxies: [], misspelt: [] });
  expect(config.modelServer).toBeUndefined();
  expect(config.allowPrivateDestinations).toBe(false);
  expect(readConfig({}, true).logFormat).toBe("pretty");
});

test("an empty variable counts as unset, and blanks around a value do not count", () => {
  expect(readConfig({ PORT: "", DATABASE_URL: " ", LOG_LEVEL: "" })).toEqual(readConfig({}));
  expect(readConfig({ PORT: " 9000 ", HOST: " 0.0.0.0\n" })).toMatchObject({ port: 9000, host: "0.0.0.0" });
});

test("every wrong value has its line, in one refusal", () => {
  const wrong = {
    PORT: "65536",
    FLUSH_INTERVAL_MS: "1e3",
    WORKERS: "0",
    CAPTURE_ACK: "disk",
    ALLOW_PRIVATE_DESTINATIONS: "true",
    SITE_URL: "example.com",
    SMTP_URL: "https://mail.example.com",
    EMAIL_FROM: "Reports <reports>",
    BOOTSTRAP_EMAIL: "nobody",
    BOOTSTRAP_PROJECT_API_KEY: "short",
    METRICS_TOKEN: "tooshortatoken",
    SECRET_KEY: "guessed",
    CLICKHOUSE_CLUSTER: "a'b",
    TRUSTED_PROXIES: "10.0.0.0/8, 10.0.0.0/33",
    EXPORT_FILE_DIR: "/data/*",
  };
  const lines = wrongLines(wrong);
  expect(lines.map((line) => line.split(":")[0]).toSorted()).toEqual(Object.keys(wrong).toSorted());
});

test("SITE_URL has no path: there is no base path, and links would lead elsewhere", () => {
  const [line, ...others] = wrongLines({ SITE_URL: "https://example.com/sluice" });
  expect([line, others]).toEqual([expect.stringContaining("SITE_URL: must have no path"), []]);
  for (const SITE_URL of [
    "https://user:secret@example.com/",
    "https://example.com/?x",
    "https://example.com#y",
  ])
    expect(wrongLines({ SITE_URL })).toHaveLength(1);
  for (const SITE_URL of [
    "https://example.com",
    "https://example.com/",
    "HTTPS://example.com",
    "http://[::1]:8000",
  ])
    expect(wrongLines({ SITE_URL })).toEqual([]);
});

test("bounds are part of what they bound", () => {
  expect(
    wrongLines({ PORT: "0", WORKERS: "256", BODY_BYTES_MAX: "1024", QUERY_CPU_SECONDS_MAX: "3600" }),
  ).toEqual([]);
  expect(wrongLines({ PORT: "-1" })).toEqual(['PORT: expected a whole number from 0 to 65535, got "-1"']);
});

test("values that may hold a secret are not repeated", () => {
  const shown = wrongLines({
    DATABASE_URL: "mysql://u:hunter2@db",
    CLICKHOUSE_URL: "ftp://u:hunter2@db",
    SMTP_URL: "u:hunter2@mail",
    SECRET_KEY: "hunter2",
    SECRET_KEY_BEFORE: "hunter2",
    BOOTSTRAP_PERSONAL_API_KEY: "hunter2",
    METRICS_TOKEN: "hunter2",
  });
  expect(shown.length).toBeGreaterThanOrEqual(7);
  expect(shown.join()).not.toContain("hunter2");
});

test("what needs another setting says so", () => {
  expect(wrongLines({ CLICKHOUSE_CLUSTER: "c" })).toEqual([expect.stringContaining("needs CLICKHOUSE_URL")]);
  const database = { DATABASE_URL: "postgres://db/sluice" };
  expect(wrongLines(database)).toEqual([expect.stringContaining("SECRET_KEY: must be set")]);
  expect(wrongLines({ ...database, SECRET_KEY: secret })).toEqual([]);
  expect(wrongLines({ SECRET_KEY_BEFORE: secret })).toEqual([expect.stringContaining("needs SECRET_KEY")]);
});

test("a name that is one slip away from a setting is found, others are not", () => {
  const slips = { PROT: "1", DATADIR: "d", LOG_LEVELS: "info", HOSD: "h", SECRETKEY: "s" };
  const others = { PATH: "/bin", HOME: "/root", LOG: "1", MY_PORT: "1", PORTAL: "1" };
  expect(readConfig({ ...slips, ...others }).misspelt).toEqual([
    ["PROT", "PORT"],
    ["DATADIR", "DATA_DIR"],
    ["LOG_LEVELS", "LOG_LEVEL"],
    ["HOSD", "HOST"],
    ["SECRETKEY", "SECRET_KEY"],
  ]);
});

test("a language model is there by its address or its key, without a slash at the end", () => {
  expect(readConfig({ OPENAI_API_KEY: "k" }).modelServer?.url).toBe("https://api.openai.com/v1");
  const own = readConfig({ OPENAI_BASE_URL: "http://model:8080/v1/", OPENAI_MODEL: "own" }).modelServer;
  expect(own).toEqual({ url: "http://model:8080/v1", key: undefined, model: "own" });
});
