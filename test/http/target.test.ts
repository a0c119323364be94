// What a request is addressed to: the path as its client wrote it, and one host.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { httpLimits } from "../../src/http/limits.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { sendRaw } from "../support/raw.ts";
import { personalKey, projectKey } from "../support/server.ts";

let app: RunningApp;
let organization: string;
beforeAll(async () => {
  app = await startApp();
  organization = String((await ask(app, "GET", "/api/organizations/@current/")).body["id"]);
});
afterAll(cleanUp);

const authorization = `Authorization: Bearer ${personalKey}`;

async function answerTo(method: string, target: string, head = ["Host: h"]): Promise<[number, unknown]> {
  const { status, text } = await sendRaw(app.url, [`${method} ${target} HTTP/1.1`, ...head, authorization]);
  const [, body = ""] = text.split("\r\n\r\n");
  return [status, body.startsWith("{") ? (JSON.parse(body) as { code?: string }).code : undefined];
}

/** All spellings that an address is resolved with. */
const up = ["..", ".%2e", ".%2E", "%2e.", "%2E.", "%2e%2e", "%2E%2e", "%2e%2E", "%2E%2E"];
const here = [".", "%2e", "%2E"];

test("a path with dot segments is refused, and never becomes that of another route", async () => {
  const home = `/api/organizations/${organization}`;
  const targets = [
    ...up.flatMap((dots) => [`${home}/batch_exports/${dots}`, `${home}/batch_exports/${dots}/`]),
    ...up.map((dots) => `${home}/batch_exports/1/${dots}/${dots}/?x=1`),
    ...here.flatMap((dot) => [
      `${home}/${dot}`,
      `${home}/${dot}/`,
      `/api/${dot}/organizations/${organization}/`,
    ]),
    `${home}/batch_exports\\..`,
    `${home}/a\\b/..`,
    `${home}/a\\b\\../%5c/..`,
    `/api\\organizations\\${organization}`,
    `http://h${home}/batch_exports/..`,
  ];
  for (const target of targets) {
    expect([target, await answerTo("DELETE", target)]).toEqual([target, [400, "parse_error"]]);
  }
  expect((await ask(app, "GET", "/api/organizations/@current/")).body["id"]).toBe(organization);
  const old = [`DELETE ${home}/batch_exports/../ HTTP/1.0`, authorization];
  expect((await sendRaw(app.url, old)).status).toBe(400);
});

test("a path with an empty segment, or of more segments than any, is not resolved to a route", async () => {
  const home = `/api/organizations/${organization}`;
  const deep = "a/".repeat(httpLimits.pathSegmentsMax);
  for (const target of [
    `${home}/batch_exports//../..`,
    `//x/..${home}/`,
    `/${deep}${"../".repeat(16)}_health`,
  ]) {
    expect([target, await answerTo("DELETE", target)]).toEqual([target, [404, "not_found"]]);
  }
  const deepest = Math.max(...app.routes.map(({ path }) => path.split("/").filter(Boolean).length));
  expect(deepest).toBeLessThan(httpLimits.pathSegmentsMax);
});

test("dots and backslashes inside of a segment are text", async () => {
  for (const id of ["a.b", "...", "a..", "..a", "%5c..", "%2e%2e%2e", "%252e%252e"]) {
    const target = `/api/projects/1/session_recordings/${id}/`;
    expect([id, await answerTo("GET", target)]).toEqual([id, [404, "not_found"]]);
  }
  expect((await answerTo("GET", "/_health?back=/../\\..")).at(0)).toBe(200);
});

test("two Host headers are refused, on every kind of route", async () => {
  const both = ["Host: a", "Host: b"];
  const same = ["Host: a", "Host: a"];
  for (const head of [both, same]) {
    expect(await answerTo("GET", "/_health", head)).toEqual([400, "parse_error"]);
    expect(await answerTo("GET", "/api/projects/1/", head)).toEqual([400, "parse_error"]);
    expect(await answerTo("POST", "/batch/", head)).toEqual([400, "parse_error"]);
  }
});

const event = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });

test("repeated slashes in requests of SDKs are one, as from a host with a last slash", async () => {
  const post = async (target: string) => {
    const head = [`POST ${target} HTTP/1.1`, "Host: h", "Content-Type: application/json"];
    const { status, text } = await sendRaw(app.url, head, event);
    return [status, text.split("\r\n\r\n")[1]];
  };
  const taken = [
    "//batch/",
    "//batch",
    "///batch/",
    "//i/v0/e/",
    "/i//v0//e/",
    "/batch//",
    "//i//v0//e//",
    "//s/",
  ];
  for (const target of [...taken, "//capture/?verbose=0", "//e/?_=//a//"]) {
    expect([target, await post(target)]).toEqual([target, [200, '{"status":"Ok"}']]);
  }
  for (const target of ["//flags/?v=2", "//flags", "//decide/?v=3", "//api/surveys/", "//api//surveys"]) {
    expect([target, (await post(target)).at(0)]).toEqual([target, 200]);
  }
  for (const target of [`//array/${projectKey}/config`, "//static/array.js", "//static//1.0.0/array.js"]) {
    expect([target, (await answerTo("GET", target)).at(0)]).toEqual([target, 200]);
  }
  const old = await sendRaw(app.url, ["POST //batch/ HTTP/1.0"], event);
  expect(old.status).toBe(200);
});

test("repeated slashes lead to no address of the management API, and dot segments among them to none at all", async () => {
  const home = "/api/projects/1";
  for (const target of [
    `/${home}/`,
    `${home}//`,
    "/api//projects/1/",
    "/api/projects//",
    "//_health",
    "//metrics",
  ]) {
    expect([target, await answerTo("GET", target)]).toEqual([target, [404, "not_found"]]);
  }
  for (const target of [
    "//x/..//batch/",
    "//../batch/",
    "//batch/..",
    "//./batch/",
    "//%2e/batch/",
    "//a\\batch/",
  ]) {
    expect([target, (await answerTo("POST", target)).at(0)]).toBeOneOf([
      [target, 400],
      [target, 404],
    ]);
  }
  expect(await answerTo("POST", "//x/../batch/")).toEqual([400, "parse_error"]);
  expect(await answerTo("POST", "//batch/", ["Host: a", "Host: b"])).toEqual([400, "parse_error"]);
});
