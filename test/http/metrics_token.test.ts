// Who may read /metrics: anybody, or whoever has the token that the operator chose.

import { afterAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openMetrics } from "../../src/capture/metrics.ts";
import { readConfig } from "../../src/config.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { healthRoutes } from "../../src/http/metrics/health.ts";
import { openProblems } from "../../src/http/problem.ts";
import { cleanUp } from "../support/cleanup.ts";
import { startServer } from "../support/server.ts";

afterAll(cleanUp);

const token = "metrics-token-of-32-characters-x";

/** Status and code of what /metrics answers to this Authorization header. */
async function metricsOf(metricsToken: string | undefined, authorization?: string): Promise<unknown[]> {
  let read = 0;
  const metrics = () => `read ${++read}\n`;
  const app = new Elysia().onError(openProblems({ log: silentLog, routes: () => [] })).use(
    healthRoutes({
      checks: {},
      captureChecks: ["journal"],
      storedUntil: async () => 0,
      registry: openMetrics().registry,
      clock: systemClock,
      metrics,
      metricsToken,
      log: silentLog,
    }),
  );
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const reply = await app.handle(new Request("http://localhost/metrics", { headers }));
  const text = await reply.text();
  return [reply.status, text.startsWith("{") ? (JSON.parse(text) as { code: string }).code : text, read];
}

test("without a token anybody may read the metrics", async () => {
  expect(await metricsOf(undefined)).toEqual([200, "read 1\n", 1]);
  expect(await metricsOf(undefined, "Bearer anything")).toEqual([200, "read 1\n", 1]);
});

test("with one, only its holder may, and nothing is counted up for anybody else", async () => {
  expect(await metricsOf(token, `Bearer ${token}`)).toEqual([200, "read 1\n", 1]);
  expect(await metricsOf(token)).toEqual([401, "not_authenticated", 0]);
  for (const wrong of [
    "Bearer ",
    token,
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
  ]) {
    expect([wrong, await metricsOf(token, wrong)]).toEqual([wrong, [401, "authentication_failed", 0]]);
  }
});

test("METRICS_TOKEN is 16 to 256 visible characters, or the start says why not", () => {
  expect(readConfig({}).metricsToken).toBeUndefined();
  expect(readConfig({ METRICS_TOKEN: "" }).metricsToken).toBeUndefined();
  expect(readConfig({ METRICS_TOKEN: token }).metricsToken).toBe(token);
  for (const wrong of ["fifteen-chars-x", "x".repeat(257), "sixteen chars ok", "sixteen-chärs-ok"]) {
    const complaint = "METRICS_TOKEN: must be 16 to 256 visible ASCII characters";
    expect(() => readConfig({ METRICS_TOKEN: wrong })).toThrow(complaint);
  }
});

test("every worker requires it", async () => {
  const server = await startServer({ METRICS_TOKEN: token, WORKERS: "2" });
  const ask = async (headers: Record<string, string>) => {
    const reply = await fetch(`${server.url}/metrics`, { headers: { connection: "close", ...headers } });
    const text = await reply.text();
    return [
      reply.status,
      text.includes("sluice_events_received_total"),
      reply.headers.get("x-content-type-options"),
    ];
  };
  // Each connection goes to one of the workers: of forty, some to each.
  for (let asked = 0; asked < 20; asked++) {
    expect(await ask({})).toEqual([401, false, "nosniff"]);
    expect(await ask({ authorization: `Bearer ${token}` })).toEqual([200, true, "nosniff"]);
  }
});
