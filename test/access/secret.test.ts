import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { openSecrets } from "../../src/access/secret.ts";
import { UserError } from "../../src/core/fault.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

const secret = { aws_secret_access_key: "hush", nested: { password: "ü\u0000" } };

test("what is sealed can be opened with the same key, and shows nothing", () => {
  const secrets = openSecrets({ secretKey: "one", dataDir: makeFolder() });
  const sealed = secrets.seal(secret);
  expect(openSecrets({ secretKey: "one", dataDir: makeFolder() }).open(sealed)).toEqual(secret);
  expect(Buffer.from(sealed).toString("latin1")).not.toContain("hush");
  expect(secrets.seal(secret)).not.toEqual(sealed);
});

test("another key opens nothing, and says which remedy there is", () => {
  const sealed = openSecrets({ secretKey: "one", dataDir: makeFolder() }).seal(secret);
  const other = openSecrets({ secretKey: "two", dataDir: makeFolder() });
  expect(() => other.open(sealed)).toThrow(UserError);
  expect(() => other.open(sealed)).toThrow("SECRET_KEY");
});

test("no changed byte goes unnoticed", () => {
  const secrets = openSecrets({ secretKey: "one", dataDir: makeFolder() });
  const sealed = secrets.seal(secret);
  for (const [i, byte] of sealed.entries()) {
    expect(() => secrets.open(Uint8Array.from(sealed).with(i, byte ^ 1))).toThrow(UserError);
  }
  for (const length of [0, 1, 30, sealed.length - 1]) {
    expect(() => secrets.open(sealed.slice(0, length))).toThrow(UserError);
  }
});

test("without SECRET_KEY a key is made once, for its owner alone", () => {
  const dataDir = makeFolder();
  const sealed = openSecrets({ dataDir }).seal(secret);
  expect(openSecrets({ dataDir }).open(sealed)).toEqual(secret);
  expect(statSync(`${dataDir}/secret.key`).mode & 0o777).toBe(0o600);
  expect(readdirSync(dataDir)).toEqual(["secret.key"]);
});

test("setting SECRET_KEY later leaves readable what the file's key sealed", () => {
  const dataDir = makeFolder();
  const before = openSecrets({ dataDir }).seal(secret);
  const later = openSecrets({ secretKey: "one", dataDir });
  expect(later.open(before)).toEqual(secret);
  expect(openSecrets({ secretKey: "one", dataDir: makeFolder() }).open(later.seal(secret))).toEqual(secret);
});

test("SECRET_KEY alone makes no file, and a damaged file is reported", () => {
  const dataDir = makeFolder();
  openSecrets({ secretKey: "one", dataDir });
  expect(existsSync(`${dataDir}/secret.key`)).toBe(false);
  writeFileSync(`${dataDir}/secret.key`, "short");
  expect(() => openSecrets({ dataDir })).toThrow("is damaged");
});

test("what stands in the file is the same key when it is given as SECRET_KEY", () => {
  const dataDir = makeFolder();
  const withFile = openSecrets({ dataDir });
  const secretKey = readFileSync(`${dataDir}/secret.key`, "utf8").trim();
  const elsewhere = openSecrets({ secretKey, dataDir: makeFolder() });
  expect(elsewhere.open(withFile.seal({ password: "p" }))).toEqual({ password: "p" });
  expect(withFile.open(elsewhere.seal({ password: "q" }))).toEqual({ password: "q" });
});
