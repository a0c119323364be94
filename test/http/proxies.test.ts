// The configurations of src/docs/proxies.md, as the page has them, before a real server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readConfig } from "../../src/config.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { makeFolder } from "../support/folder.ts";
import {
  type Certificate,
  type Front,
  frontHost,
  makeCertificate,
  missingForFronts,
  type Relay,
  startFront,
  startRelay,
} from "../support/front.ts";
import { root, snippetsOf } from "../support/readme.ts";
import { personalKey, post, projectKey, type StartedServer, startServer, until } from "../support/server.ts";

const page = readFileSync(join(root, "src/docs/proxies.md"), "utf8");
const snippets = snippetsOf(page);
const textsOf = (maker: string) =>
  snippets.filter(({ language }) => language === maker).map(({ text }) => text);
const { bodyBytesMax, idleTimeoutSeconds } = readConfig({});
const makers = ["nginx", "caddy", "haproxy"] as const;
type Maker = (typeof makers)[number];

let server: StartedServer;
let tls: Certificate;
/** What each proxy has behind it, and the proxy. */
const behind = {} as Record<Maker, Relay>;
const fronts = {} as Record<Maker, Front>;
const folder = makeFolder();

const settings = { TRUSTED_PROXIES: "127.0.0.1", SITE_URL: `https://${frontHost}`, FLUSH_INTERVAL_MS: "50" };

const missing = missingForFronts();

beforeAll(async () => {
  if (missing) return;
  tls = makeCertificate();
  server = await startServer({ ...settings, IDLE_TIMEOUT_SECONDS: "5" });
  for (const maker of makers) {
    behind[maker] = await startRelay(server.url);
    fronts[maker] = await startFront(
      maker,
      textsOf(maker)[0]!,
      { "127.0.0.1:8000": behind[maker].port },
      tls,
    );
  }
});
afterAll(cleanUp);

const json = ["-H", "content-type: application/json"];
const manage = ["-H", `authorization: Bearer ${personalKey}`];

function eventNamed(event: string, properties: object = {}) {
  return JSON.stringify({ api_key: projectKey, event, distinct_id: "d", properties });
}

const timestamp = new Date().toISOString();

/** Of a visitor without cookies, who is known by the address. */
function visitNamed(event: string) {
  const who = { distinct_id: "$posthog_cookieless", $cookieless_mode: true, $raw_user_agent: "Mozilla/5.0" };
  const properties = { ...who, $host: "www.example.com", $timezone: "UTC" };
  return JSON.stringify({ api_key: projectKey, event, properties, timestamp });
}

function fileOf(name: string, data: string | Uint8Array): string {
  writeFileSync(join(folder, name), data);
  return `@${join(folder, name)}`;
}

async function eventually(event: string): Promise<ReadEvent[]> {
  let found: ReadEvent[] = [];
  await until(async () => (found = await readEvents(server, { event })).length > 0);
  return found;
}

test("a proxy closes idle connections before the server does, by default", () => {
  const seconds = [...page.matchAll(/ keepalive(?:_timeout)? (\d+)s/g)].map(([, text]) => Number(text));
  expect(seconds.length).toBe(2);
  for (const one of seconds) expect(one).toBeLessThan(idleTimeoutSeconds);
});

describe.skipIf(missing !== undefined).each(makers)("%s", (maker) => {
  test("speaks HTTP/2, and a visitor is known by its own address, whatever it claims", async () => {
    const forged = ["X-Forwarded-For: 203.0.113.9", "X-Request-Id: forged"].flatMap((line) => ["-H", line]);
    const visit = async (event: string, from: string, claims: readonly string[]) => {
      const options = ["--interface", from, ...json, ...claims, "-d", visitNamed(event)];
      const answer = await fronts[maker].ask("/e/", options);
      expect(answer).toMatchObject({ status: 200, version: "2", text: '{"status":"Ok"}' });
      expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{32,36}$/);
      return (await eventually(event))[0]!.distinct_id;
    };
    const visitor = await visit(`claims by ${maker}`, "127.0.0.2", forged);
    expect(await visit(`claims nothing by ${maker}`, "127.0.0.2", [])).toBe(visitor);
    expect(await visit(`is another by ${maker}`, "127.0.0.3", [])).not.toBe(visitor);
    const direct = { "content-type": "application/json", "x-forwarded-for": "127.0.0.2" };
    await post(server, "/e/", visitNamed(`without ${maker}`), direct);
    expect((await eventually(`without ${maker}`))[0]!.distinct_id).toBe(visitor);
    expect(await fronts[maker].ask("/_health", ["--http1.1"])).toMatchObject({ status: 200, version: "1.1" });
  });

  test("passes a body below the bound, of gzip too; one of the bound is the server's own 413", async () => {
    const text = eventNamed(`large by ${maker}`);
    const largest = fileOf("largest", text.padEnd(bodyBytesMax - 1));
    for (const version of ["--http2", "--http1.1"]) {
      const send = async (body: string, extra: readonly string[] = []) =>
        await fronts[maker].ask("/batch/", [version, ...json, ...extra, "--data-binary", body]);
      expect(await send(largest)).toMatchObject({ status: 200 });
      const zipped = fileOf("zipped", gzipSync(text.padEnd(1_000_000, " \n")));
      expect(await send(zipped, ["-H", "content-encoding: gzip"])).toMatchObject({ status: 200 });
      const refused = await send(fileOf("larger", text.padEnd(bodyBytesMax)), [
        "-H",
        "Origin: https://shop.example",
      ]);
      expect(refused.status).toBe(413);
      expect(JSON.parse(refused.text)).toMatchObject({ type: "invalid_request", code: "payload_too_large" });
      expect(refused.headers["access-control-allow-origin"]).toBe("https://shop.example");
    }
  });

  test("passes a pixel with 40,000 characters, and a preflight of browsers", async () => {
    const data = encodeURIComponent(eventNamed(`pixel by ${maker}`, { long: "x".repeat(40_000) }));
    expect(await fronts[maker].ask(`/e/?data=${data}`, [])).toMatchObject({ status: 200 });
    const asked = ["Origin: https://shop.example", "Access-Control-Request-Method: POST"];
    const head = [...asked, "Access-Control-Request-Headers: content-type"].flatMap((line) => ["-H", line]);
    const { status, headers } = await fronts[maker].ask("/e/", ["-X", "OPTIONS", ...head]);
    expect([200, 204]).toContain(status);
    expect(headers["access-control-allow-origin"]).toBe("https://shop.example");
    expect(headers["access-control-allow-headers"]).toContain("content-type");
  });

  test("sends live events at once", async () => {
    const name = `live by ${maker}`;
    let text = "";
    let sent = false;
    for await (const chunk of fronts[maker].follow("/console/stream/1", manage)) {
      text += Buffer.from(chunk).toString();
      if (!sent && text.includes("event: open")) {
        sent = true;
        expect((await fronts[maker].ask("/e/", [...json, "-d", eventNamed(name)])).status).toBe(200);
      }
      if (text.includes(name)) break;
    }
    expect(text).toContain(name);
  });

  test("links of pages name the site, with TLS", async () => {
    const { text } = await fronts[maker].ask("/api/projects/1/events/?limit=1", manage);
    expect((JSON.parse(text) as { next: string }).next).toStartWith(`https://${frontHost}/api/`);
  });

  test("has no path of a server below another: what is not removed is a 404 that says so", async () => {
    const answer = await fronts[maker].ask("/ingest/e/", [...json, "-d", eventNamed("below")]);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({ type: "invalid_request", code: "not_found" });
  });

  test("keeps connections, and answers after the server has closed idle ones", async () => {
    const health = `${fronts[maker].url}/_health`;
    const before = behind[maker].requesting();
    await fronts[maker].ask("/_health", ["--http1.1", "-o", "/dev/null", health, "-o", "/dev/null", health]);
    expect(behind[maker].requesting() - before).toBeLessThanOrEqual(1);
    await until(async () => behind[maker].isIdle());
    expect((await fronts[maker].ask("/e/", [...json, "-d", eventNamed("after idling")])).status).toBe(200);
  });
});

test.skipIf(missing !== undefined)("captures alone may be below a path that nginx removes", async () => {
  const [, removing] = /`(location \/ingest\/ \{ .* )… \}`/.exec(page)!;
  const text = textsOf("nginx")[0]!.replace("location / {", `${removing}}\nlocation / {`);
  const front = await startFront("nginx", text, { "127.0.0.1:8000": behind.nginx.port }, tls);
  expect((await front.ask("/ingest/e/", [...json, "-d", eventNamed("below a path")])).status).toBe(200);
  expect((await front.ask(`/ingest/array/${projectKey}/config`, [])).status).toBe(200);
  await eventually("below a path");
});
