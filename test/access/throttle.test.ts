import { afterAll, beforeAll, expect, test } from "bun:test";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { startMsMax } from "../support/accounts.ts";
import { addStranger, type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Server, startServer, storesOf } from "../support/server.ts";

let server: Server;
let user_id: number;
let newKey: (scopes?: string[]) => Promise<string>;

beforeAll(async () => {
  server = await startServer({ MANAGEMENT_RATE_LIMIT: "3" });
  const { sql } = await storesOf(server);
  ({ user_id } = await addStranger(sql));
  newKey = async (scopes = ["*"]) => (await issueKey(sql, user_id, { label: "counted", scopes })).value;
}, startMsMax);
afterAll(cleanUp, startMsMax);

const budget = ({ headers }: Answer) =>
  ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}`));

test("past its budget a key is answered 429, with the time to retry; other keys are not affected", async () => {
  const key = await newKey();
  const answers: Answer[] = [];
  for (let i = 0; i < 5; i += 1)
    answers.push(await ask(server, "GET", "/api/organizations/", undefined, key));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  expect(answers.map((one) => budget(one)[1])).toEqual(["2", "1", "0", "0", "0"]);
  expect(answers.map((one) => budget(one)[0])).toEqual(Array(5).fill("3"));
  const seconds = Number(answers[4]!.headers.get("retry-after"));
  expect(seconds >= 1 && seconds <= 60).toBe(true);
  expect(problemOf(answers[4]!)).toEqual([
    429,
    "throttled_error",
    "throttled",
    `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? "" : "s"}.`,
    null,
  ]);
  expect((await ask(server, "GET", "/api/organizations/", undefined, await newKey())).status).toBe(200);
});

test("a request refused at the gate takes nothing, one refused behind it does", async () => {
  const key = await newKey(["organization:read"]);
  for (const path of ["/api/projects/", "/api/projects/1/", "/api/personal_api_keys/"]) {
    const refused = await ask(server, "GET", path, undefined, key);
    expect([refused.status, ...budget(refused)]).toEqual([403, "3", "3", "0"]);
  }
  const absent = await ask(server, "GET", `/api/organizations/${crypto.randomUUID()}/`, undefined, key);
  expect([absent.status, budget(absent)[1]]).toEqual([404, "2"]);
  const unknown = await ask(server, "GET", "/api/organizations/", undefined, "phx_unknown");
  expect([unknown.status, ...budget(unknown)]).toEqual([401, null, null, null]);
});
