// Links that ask for a password or end, and pages that others may embed, on a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { hashKey } from "../../src/core/id.ts";
import { sharingLimits } from "../../src/sharing/limits.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Server, startServer, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let server: Server;
beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50", TRUSTED_PROXIES: "127.0.0.1" });
}, storesStartMsMax);

const api = (method: string, path: string, body?: object) =>
  ask(server, method, `/api/projects/1/${path}`, body);

async function share(more: object) {
  const query = { kind: "TrendsQuery", series: [{ event: "paid" }] };
  const { body } = await api("POST", "insights/", { name: "Sales", query });
  const path = `insights/${String(body["id"])}/sharing/`;
  const shared = await api("PATCH", path, { enabled: true, ...more });
  expect(shared.status).toBe(200);
  return { path, token: String(shared.body["access_token"]), sharing: shared.body };
}

const open = (token: string, pass?: string, more = "") =>
  fetch(`${server.url}/shared/${token}/${more}`, {
    headers: pass === undefined ? {} : { authorization: `Bearer ${pass}` },
  });

const unlock = (token: string, password: unknown, from = "203.0.113.1") =>
  fetch(`${server.url}/shared/${token}/`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": from },
    body: JSON.stringify({ password }),
  });

const passFor = async (token: string, password: string) =>
  ((await (await unlock(token, password)).json()) as { shareToken: string }).shareToken;

test("a link with a password shows nothing without it, and ends for those who gave one that is removed", async () => {
  const { path, token } = await share({ password_required: true });
  expect((await open(token)).status).toBe(401);
  expect((await unlock(token, "whatever it is")).status).toBe(401);
  const made = await api("POST", `${path}passwords/`, { raw_password: "a word of eight", note: "the board" });
  expect(made).toMatchObject({ status: 201, body: { password: "a word of eight", note: "the board" } });
  expect((await open(token, undefined, "alive/")).status).toBe(401);
  expect((await unlock(token, "a word of seven")).status).toBe(401);
  const pass = await passFor(token, "a word of eight");
  expect((await open(token, pass)).status).toBe(200);
  expect((await open(token, pass, "alive/")).status).toBe(204);
  expect((await open(token, `${pass.slice(0, -2)}AA`)).status).toBe(401);
  const listed = (await api("GET", path)).body["share_passwords"] as { id: number }[];
  expect(listed).toMatchObject([{ id: made.body["id"], note: "the board", is_active: true }]);
  expect(JSON.stringify(listed)).not.toContain("a word");
  expect((await api("DELETE", `${path}passwords/${String(made.body["id"])}/`)).status).toBe(204);
  await until(async () => (await open(token, pass)).status === 401);
  for (const id of [String(made.body["id"]), "1%00", "0", "9".repeat(30)])
    expect([id, (await api("DELETE", `${path}passwords/${id}/`)).status]).toEqual([id, 404]);
});

test("a pass opens its own link only, and a random password is made where none is given", async () => {
  const [one, other] = [await share({ password_required: true }), await share({ password_required: true })];
  const { body } = await api("POST", `${one.path}passwords/`, {});
  await api("POST", `${other.path}passwords/`, {});
  const pass = await passFor(one.token, String(body["password"]));
  expect([(await open(one.token, pass)).status, (await open(other.token, pass)).status]).toEqual([200, 401]);
});

test("passwords are bounded, stored as hashes, and their attempts limited as those of accounts", async () => {
  const { path, token } = await share({ password_required: true });
  expect((await api("POST", `${path}passwords/`, { raw_password: "short" })).status).toBe(400);
  for (let i = 0; i < 5; i++) expect((await api("POST", `${path}passwords/`, {})).status).toBe(201);
  expect((await api("POST", `${path}passwords/`, {})).status).toBe(400);
  const { sql } = await storesOf(server);
  const rows = await sql<{ password_hash: string }[]>`SELECT password_hash FROM share_passwords`;
  expect(rows.every(({ password_hash }) => password_hash.startsWith("$argon2id$"))).toBe(true);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await unlock(token, `guess number ${i}`)).status);
  expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
  expect(statuses.slice(10)).toEqual([429, 429]);
  expect((await unlock(token, 7)).status).toBe(400);
  expect((await unlock(token, "x".repeat(200))).status).toBe(400);
});

test("a stranger's requests are none of those that people with a pass have, nor their right passwords tries", async () => {
  const { path, token } = await share({ password_required: true });
  await api("POST", `${path}passwords/`, { raw_password: "a word of eight" });
  const pass = await passFor(token, "a word of eight");
  const { requestsPerMinuteMax } = sharingLimits;
  // Both kinds of requests that need no pass; the second is refused before its body is compared with anything.
  for (let sent = 0; sent < requestsPerMinuteMax; sent += 500)
    await Promise.all(Array.from({ length: 500 }, async () => (await unlock(token, 7)).body?.cancel()));
  for (let i = 0; i < 12; i++) await (await unlock(token, `guess number ${i}`)).body?.cancel();
  expect((await unlock(token, "a word of eight")).status).toBe(429);
  expect((await open(token, pass)).status).toBe(200);
  for (let i = 0; i < 12; i++)
    expect((await unlock(token, "a word of eight", "203.0.113.2")).status).toBe(200);
}, 300_000);

test("a pass ends with a new token, and with the end of its link", async () => {
  const { path, token } = await share({ password_required: true });
  await api("POST", `${path}passwords/`, { raw_password: "a word of eight" });
  const pass = await passFor(token, "a word of eight");
  expect((await open(token, pass)).status).toBe(200);
  const renewed = String((await api("POST", `${path}refresh/`)).body["access_token"]);
  expect([(await open(token, pass)).status, (await open(renewed, pass)).status]).toEqual([404, 401]);
  const next = await passFor(renewed, "a word of eight");
  expect((await open(renewed, next)).status).toBe(200);
  await api("PATCH", path, { expires_at: "2020-01-01T00:00:00Z" });
  await until(async () => (await open(renewed, next)).status === 404);
  expect((await open(renewed, next, "alive/")).status).toBe(404);
  expect((await unlock(renewed, "a word of eight")).status).toBe(404);
});

test("a link with a password tells a stranger no host, and shows its form in a frame on one that is listed", async () => {
  const { path, token } = await share({ password_required: true });
  await api("PATCH", "", { sharing_embed_hosts: ["wiki.example.com", "board.example.com"] });
  const ancestors = async (more: Record<string, string> = {}) => {
    const reply = await fetch(`${server.url}/shared/${token}/`, {
      headers: { accept: "text/html", ...more },
    });
    return /frame-ancestors (.*)$/.exec(reply.headers.get("content-security-policy") ?? "")?.[1];
  };
  const framed = (referer: string) => ancestors({ referer, "sec-fetch-dest": "iframe" });
  await until(async () => (await framed("https://wiki.example.com/")) === "https://wiki.example.com");
  expect(await ancestors()).toBe("'none'");
  for (const referer of [
    "https://other.example.com/",
    "wiki.example.com",
    "https://wiki.example.com:8443/",
    "%",
  ])
    expect([referer, await framed(referer)]).toEqual([referer, "'none'"]);
  // Who has the link without a password sees what it shows: it names all.
  await api("PATCH", path, { password_required: false });
  await until(async () => (await ancestors()) === "https://wiki.example.com https://board.example.com");
  await api("PATCH", "", { sharing_embed_hosts: [] });
});

test("nothing of a link with a password is told before it, whatever it shows and whether that exists", async () => {
  const { path, token } = await share({ password_required: true });
  const refused = async (more = "") => {
    const reply = await open(token, undefined, more);
    return [reply.status, ((await reply.json()) as { detail: string }).detail];
  };
  const asked = [401, "This link asks for a password."];
  const both = async () => [await refused(), await refused("alive/"), await refused("snapshots/")];
  expect(await both()).toEqual([asked, asked, asked]);
  expect((await api("DELETE", path.replace("sharing/", ""))).status).toBe(204);
  expect(await both()).toEqual([asked, asked, asked]);
});

test("a link ends at its end, and a guarded one is unknown to servers that know no guards", async () => {
  const { path, token } = await share({ expires_at: "2099-01-01T00:00:00Z" });
  expect((await api("GET", path)).body["expires_at"]).toBe("2099-01-01T00:00:00Z");
  expect((await open(token)).status).toBe(200);
  const { sql } = await storesOf(server);
  const hashes =
    () => sql`SELECT token_hash FROM sharing_configurations WHERE token_hash LIKE 'guarded sha256%'
    AND expires_at IS NOT NULL AND NOT password_required`;
  expect(await hashes()).toHaveLength(1);
  await api("PATCH", path, { expires_at: "2020-01-01T00:00:00Z" });
  await until(async () => (await open(token)).status === 404);
  const again = await api("PATCH", path, { expires_at: null });
  expect(again.body["access_token"]).toBe(token);
  expect((await open(token)).status).toBe(200);
  expect(await hashes()).toHaveLength(0);
  expect((await api("PATCH", path, { expires_at: "soon" })).status).toBe(400);
});

test("pages are embedded by hosts that the project names, and by no others", async () => {
  const { token } = await share({});
  const policy = async () => {
    const reply = await fetch(`${server.url}/shared/${token}/`, { headers: { accept: "text/html" } });
    return reply.headers.get("content-security-policy") ?? "";
  };
  expect(await policy()).toContain("frame-ancestors 'none'");
  for (const host of ["*", "https://a.example.com", "10.0.0.1", "a.example.com; script-src *"])
    expect((await api("PATCH", "", { sharing_embed_hosts: [host] })).status).toBe(400);
  await api("PATCH", "", { sharing_embed_hosts: ["wiki.example.com"] });
  await until(async () => (await policy()).includes("frame-ancestors https://wiki.example.com"));
  await api("PATCH", "", { sharing_embed_hosts: [] });
  await until(async () => (await policy()).includes("frame-ancestors 'none'"));
});

test("an older server that replaces a token, or ends and begins a link, opens none that it would not guard", async () => {
  const { sql } = await storesOf(server);
  for (const more of [{ password_required: true }, { expires_at: "2099-01-01T00:00:00Z" }]) {
    const { token } = await share(more);
    const hash = hashKey(token);
    const known = sql`token_hash IN (${hash}, ${`guarded ${hash}`})`;
    // As servers write that know neither passwords nor ends, and as they look a token up.
    const [row] = await sql<{ id: number }[]>`
      UPDATE sharing_configurations s SET token_hash = ${`${hash}x`}, token_plain = NULL
      WHERE ${known} RETURNING id`;
    const [open] = await sql`
      SELECT id FROM sharing_configurations WHERE token_hash = ANY(${[`${hash}x`]}::text[]) AND enabled`;
    expect(open).toBeUndefined();
    for (const enabled of [false, true])
      await sql`
        INSERT INTO sharing_configurations AS s (project_id, kind, target, token_hash, token_sealed, created_at, enabled)
        SELECT project_id, kind, target, ${hash}, token_sealed, created_at, ${enabled}
        FROM sharing_configurations WHERE id = ${row!.id}
        ON CONFLICT (project_id, kind, target) DO UPDATE
          SET token_hash = excluded.token_hash, enabled = excluded.enabled`;
    const stored = await sql`SELECT token_hash FROM sharing_configurations WHERE id = ${row!.id} AND enabled`;
    expect([...stored]).toEqual([{ token_hash: `guarded ${hash}` }]);
  }
});
