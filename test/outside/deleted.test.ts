// What is deleted is shown by no door: SQL, lists, links, cached results. Each test names the public threads that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { projectKey, rested, until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  await ask(app, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1";

async function capture(api_key: string, distinct_id: string, properties: object) {
  const sent = { api_key, batch: [{ event: "bought", distinct_id, properties }] };
  expect((await ask(app, "POST", "/batch/", sent, "")).status).toBe(200);
  await rested(app);
}

/** What opens a saved insight without a key. */
async function share(base: string, query: object): Promise<string> {
  const { body, status } = await ask(app, "POST", `${base}/insights/`, { name: "Shared", query });
  expect(status).toBe(201);
  const shared = await ask(app, "PATCH", `${base}/insights/${String(body["id"])}/sharing/`, {
    enabled: true,
  });
  return `/shared/${String(shared.body["access_token"])}/`;
}

async function openLink(path: string): Promise<string> {
  const reply = await fetch(app.url + path, { headers: { accept: "application/json" } });
  return `${reply.status} ${await reply.text()}`;
}

const byMail = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "bought" }],
  breakdownFilter: { breakdown: "mail", breakdown_type: "event" },
};

// PostHog/posthog#12566: a shared page went on to show what had been removed, from its cache.
test("a shared insight shows no value of a person deleted since it was computed", async () => {
  await capture(projectKey, "gone", { mail: "gone@x.example" });
  await capture(projectKey, "kept", { mail: "kept@x.example" });
  const link = await share(home, byMail);
  expect(await openLink(link)).toContain("gone@x.example");
  const { body } = await ask(app, "GET", `${home}/persons/?distinct_id=gone`);
  const [person] = body["results"] as { uuid: string }[];
  const path = `${home}/persons/${person!.uuid}/?delete_events=true`;
  expect((await ask(app, "DELETE", path)).status).toBe(204);
  await until(async () => !(await openLink(link)).includes("gone@x.example"));
  expect(await openLink(link)).toContain("kept@x.example");
});

// PostHog/posthog#13129, OpenNeuroOrg/openneuro#1144: lists and links went on to show what was deleted.
test("a deleted project is shown by no query, list or link", async () => {
  const made = await ask(app, "POST", "/api/projects/", { name: "Gone", session_recording_opt_in: true });
  const [id, key] = [Number(made.body["id"]), String(made.body["api_token"])];
  const base = `/api/projects/${id}`;
  const { batch } = {
    batch: [{ event: "bought", distinct_id: "theirs", properties: { mail: "their@x.example" } }],
  };
  await until(async () => (await ask(app, "POST", "/batch/", { api_key: key, batch }, "")).status === 200);
  const session = Bun.randomUUIDv7();
  const pieces = bodyOf({
    session,
    distinct_id: "theirs",
    events: [event.page(Date.now(), "https://x.example/")],
  });
  for (const piece of pieces as { properties: object }[]) Object.assign(piece.properties, { token: key });
  const recorded = `${base}/session_recordings/${session}/`;
  await until(async () => {
    await ask(app, "POST", "/s/", pieces, "");
    return (await ask(app, "GET", recorded)).status === 200;
  });
  const query = { kind: "HogQLQuery", query: "select properties.mail from events" };
  const background = await ask(app, "POST", `${base}/query/`, { query, async: true });
  const status = `${base}/query/${String((background.body["query_status"] as { id: string }).id)}/`;
  await until(async () => (await ask(app, "GET", status)).status === 200);
  const link = await share(base, byMail);
  const shared = await ask(app, "PATCH", `${recorded}sharing/`, { enabled: true });
  const recordingLink = `/shared/${String(shared.body["access_token"])}/`;
  expect(await openLink(link)).toContain("their@x.example");
  expect(await openLink(recordingLink)).toStartWith("200");
  expect((await ask(app, "DELETE", `${base}/`)).status).toBe(204);
  await until(async () => (await openLink(link)).startsWith("404"));
  await until(async () => (await openLink(recordingLink)).startsWith("404"));
  const lists = [
    "events",
    "persons",
    "session_recordings",
    "insights",
    "batch_exports",
    "ingestion_warnings",
  ];
  for (const path of [...lists.map((list) => `${base}/${list}/`), recorded, `${recorded}snapshots/`, status])
    expect([path, (await ask(app, "GET", path)).status]).toEqual([path, 404]);
  expect((await ask(app, "POST", `${base}/query/`, { query })).status).toBe(404);
});

// PostHog/posthog#14159: an application that is still open goes on to send under the ids of a deleted person.
test("of a deleted person only what arrives afterwards is shown, as a new person", async () => {
  await capture(projectKey, "returning", { mail: "before@x.example", $set: { name: "Before" } });
  const { body } = await ask(app, "GET", `${home}/persons/?distinct_id=returning`);
  const [person] = body["results"] as { uuid: string }[];
  const path = `${home}/persons/${person!.uuid}/?delete_events=true`;
  expect((await ask(app, "DELETE", path)).status).toBe(204);
  await capture(projectKey, "returning", { mail: "after@x.example" });
  const sql = "select properties.mail, person.properties.name from events where distinct_id = 'returning'";
  const query = { kind: "HogQLQuery", query: sql };
  const answer = await ask(app, "POST", `${home}/query/`, { query, refresh: "force_blocking" });
  expect(answer.body["results"]).toEqual([["after@x.example", null]]);
  for (const list of ["events/?distinct_id=returning", "persons/?distinct_id=returning"]) {
    const { text } = await ask(app, "GET", `${home}/${list}`);
    expect([list, text.includes("before@x.example"), text.includes("Before")]).toEqual([list, false, false]);
  }
});
