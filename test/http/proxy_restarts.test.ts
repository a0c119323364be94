// What the proxies of src/docs/proxies.md do while servers behind them are away.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PostHog } from "posthog-node";
import { cleanUp } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import {
  type Certificate,
  makeCertificate,
  missingForFronts,
  startFront,
  startRelay,
} from "../support/front.ts";
import { root, snippetsOf } from "../support/readme.ts";
import { projectKey, type StartedServer, startServer, until } from "../support/server.ts";

const snippets = snippetsOf(readFileSync(join(root, "src/docs/proxies.md"), "utf8"));
const textsOf = (maker: string) =>
  snippets.filter(({ language }) => language === maker).map(({ text }) => text);
const missing = missingForFronts();
const quick = { FLUSH_INTERVAL_MS: "50" };

let server: StartedServer;
let tls: Certificate;
beforeAll(async () => {
  if (missing) return;
  tls = makeCertificate();
  server = await startServer(quick);
});
afterAll(cleanUp);

const capture = (event: string) => [
  "-H",
  "content-type: application/json",
  "-d",
  JSON.stringify({ api_key: projectKey, event, distinct_id: "d" }),
];

describe.skipIf(missing !== undefined).each(["nginx", "caddy", "haproxy"])("%s", (maker) => {
  test("an event of posthog-node is stored once through a restart; what a proxy can hold has no error", async () => {
    const relay = await startRelay(server.url);
    const front = await startFront(maker, textsOf(maker)[0]!, { "127.0.0.1:8000": relay.port }, tls);
    relay.close();
    await server.end("SIGTERM");
    let failed = 0;
    const client = new PostHog(projectKey, {
      host: front.url,
      fetchRetryCount: 1000,
      fetchRetryDelay: 50,
      fetch: async (url, options) => {
        const answer = await front.fetch(url, options as RequestInit);
        if (answer.status === 502) failed++;
        return answer;
      },
    });
    client.capture({ distinctId: "d", event: `sent meanwhile by ${maker}` });
    const [flushed, asked] = [client.flush(), front.ask("/e/", capture("asked meanwhile"))];
    if (maker !== "haproxy") {
      expect((await asked).status).toBe(502);
      await until(async () => failed > 0);
    }
    server = await startServer(quick, server.dataDir);
    await relay.open(server.url);
    await flushed;
    if (maker === "haproxy") expect([(await asked).status, failed]).toEqual([200, 0]);
    await client.shutdown();
    const stored = async () => await readEvents(server, { event: `sent meanwhile by ${maker}` });
    await until(async () => (await stored()).length > 0);
    expect((await stored()).length).toBe(1);
  });

  test("of several servers one that is away takes nothing", async () => {
    const relays = [await startRelay(server.url), await startRelay(server.url)] as const;
    const text = withSeveral(maker);
    const addresses = { "10.0.0.1:8000": relays[0].port, "10.0.0.2:8000": relays[1].port };
    const front = await startFront(maker, text, addresses, tls);
    if (maker !== "nginx") await until(async () => relays.every(({ checks }) => checks() > 0));
    relays[0].close();
    // Until the next check each second request may meet the one that is away.
    let inARow = 0;
    await until(async () => {
      // A proxy may end the stream of one whose server went away in its middle.
      const asked = front.ask("/e/", capture("of several"));
      const status = await asked.then(
        (answer) => answer.status,
        () => 0,
      );
      inARow = status === 200 ? inARow + 1 : 0;
      return inARow === 12;
    });
  });
});

/** The configuration of one server with what the page has for several. */
function withSeveral(maker: string): string {
  const [whole = "", several = ""] = textsOf(maker);
  const two = "server 10.0.0.1:8000;\nserver 10.0.0.2:8000;";
  if (maker === "nginx") return whole.replace("server 127.0.0.1:8000;", two);
  const begins = several.split("\n")[0]!.trim().split(" ")[0]!;
  const place = whole.split("\n").findIndex((line) => line.trim().startsWith(`${begins} `));
  const before = whole.split("\n").slice(0, place);
  return [...before, several, ...(maker === "caddy" ? ["}"] : [])].join("\n");
}
