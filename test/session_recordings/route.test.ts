import { afterAll, beforeAll, expect, test } from "bun:test";
import { wordsIn } from "../../src/core/words.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { post, rested, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

const base = "/api/environments/1/session_recordings";
let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const at = Date.parse("2026-03-04T10:00:00Z");
  const body = bodyOf({
    session: "s 1",
    events: [event.page(at, "https://shop.example/"), event.whole(at + 5)],
  });
  await until(async () => (await (await post(server, "/s/", body)).text()) === '{"status":"Ok"}');
  await rested(server);
});

async function shared(token: unknown, more = ""): Promise<Response> {
  return await fetch(`${server.url}/shared/${String(token)}/${more}`);
}

test("a recording has one token from the first question on, and opens to nobody by it", async () => {
  const first = await ask(server, "GET", `${base}/s%201/sharing/`);
  expect([first.status, Object.keys(first.body).toSorted()]).toEqual([
    200,
    wordsIn(`access_token created_at enabled expires_at not_shown password_required properties_to_confirm share_passwords
      shown_properties`),
  ]);
  expect(first.body["enabled"]).toBe(false);
  expect(Date.parse(String(first.body["created_at"]))).not.toBeNaN();
  expect(String(first.body["access_token"])).toMatch(/^[0-9A-Za-z]{43}$/);
  const questions = await Promise.all([1, 2, 3].map(() => ask(server, "GET", `${base}/s%201/sharing`)));
  for (const { body } of questions) expect(body).toEqual(first.body);
  expect((await shared(first.body["access_token"])).status).toBe(404);
});

test("while shared, whoever has the token sees the recording, but not whose it is", async () => {
  const { body } = await ask(server, "PATCH", `${base}/s%201/sharing/`, {
    enabled: true,
    access_token: "mine",
  });
  expect(body["enabled"]).toBe(true);
  const open = await shared(body["access_token"]);
  expect(open.status).toBe(200);
  const recording = (await open.json()) as Record<string, unknown>;
  expect(recording).toMatchObject({ start_url: "https://shop.example/", recording_duration: 0 });
  for (const name of ["id", "person", "distinct_id", "viewed"]) expect(recording).not.toHaveProperty(name);
  const events = (await (await shared(body["access_token"], "snapshots/")).json()) as Record<string, object>;
  expect(Object.keys(events["snapshot_data_by_window_id"] ?? {})).toEqual(["w1"]);
  for (const token of ["mine", "", "x".repeat(43), "%00"]) expect((await shared(token)).status).toBe(404);
  for (const more of ["?zebra=1", "snapshots/?zebra=1"]) {
    expect((await shared(body["access_token"], more)).status).toBe(400);
  }
});

test("a page that plays a recording learns that its link has ended", async () => {
  const path = `${base}/s%201/sharing/`;
  const { body } = await ask(server, "PATCH", path, { enabled: true });
  expect((await shared(body["access_token"], "alive/")).status).toBe(204);
  expect((await shared(body["access_token"], "alive/?zebra=1")).status).toBe(400);
  expect((await shared("x".repeat(43), "alive/")).status).toBe(404);
  await ask(server, "PATCH", path, { enabled: false });
  expect((await shared(body["access_token"], "alive/")).status).toBe(404);
  await ask(server, "PATCH", path, { enabled: true });
});

test("a token that was disabled never opens anything again", async () => {
  const before = (await ask(server, "GET", `${base}/s%201/sharing/`)).body;
  const disabled = (await ask(server, "PATCH", `${base}/s%201/sharing/`, { enabled: false })).body;
  expect(disabled["enabled"]).toBe(false);
  expect(disabled["access_token"]).not.toBe(before["access_token"]);
  const enabled = (await ask(server, "PATCH", `${base}/s%201/sharing/`, { enabled: true })).body;
  expect(enabled["access_token"]).toBe(disabled["access_token"]);
  expect((await shared(before["access_token"])).status).toBe(404);
  expect((await shared(enabled["access_token"])).status).toBe(200);
});

test("what is no recording is not shared", async () => {
  expect((await ask(server, "PATCH", `${base}/none/sharing/`, { enabled: true })).status).toBe(404);
  expect((await ask(server, "PATCH", `${base}/s%201/sharing/`, { enabled: "perhaps" })).status).toBe(400);
});
