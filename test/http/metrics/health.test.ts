import { expect, test } from "bun:test";
import { openMetrics } from "../../../src/capture/metrics.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openLog, silentLog } from "../../../src/core/log.ts";
import { type HealthOptions, healthRoutes, openReadiness } from "../../../src/http/metrics/health.ts";

const well = async (): Promise<void> => {};
const refused = (): Promise<void> =>
  Promise.reject(Object.assign(new Error("connect 10.0.0.5:5432"), { code: "ECONNREFUSED" }));
const hanging = (): Promise<void> => new Promise(() => {});

async function ask(
  path: string,
  checks: HealthOptions["checks"],
  method = "GET",
  storedUntil: HealthOptions["storedUntil"] = async () => 0,
): Promise<Response> {
  const { registry } = openMetrics();
  const app = healthRoutes({
    checks,
    captureChecks: ["journal"],
    storedUntil,
    metrics: () => registry.render(),
    registry,
    clock: systemClock,
    log: silentLog,
    checkMsMax: 5,
  });
  return app.handle(new Request(`http://localhost${path}`, { method }));
}

test("the process lives, whatever its parts do", async () => {
  for (const path of ["/_health", "/_livez", "/_liveness", "/_health/"]) {
    expect((await ask(path, { postgres: refused })).status).toBe(200);
  }
  expect((await ask("/_health", {}, "HEAD")).status).toBe(200);
});

test("it shows the delay between capturing and reading, and that it is unknown while Postgres is unavailable", async () => {
  const at = Date.UTC(2026, 0, 1);
  const known = await ask("/_stored", {}, "GET", async () => at);
  expect([known.status, await known.json()]).toEqual([
    200,
    { stored_until: "2026-01-01T00:00:00.000Z", now: expect.stringMatching(/^\d{4}-.*Z$/) },
  ]);
  for (const away of [refused, hanging]) {
    const unknown = await ask("/_stored", {}, "GET", away as () => Promise<never>);
    expect([unknown.status, await unknown.json()]).toEqual([503, { stored_until: null }]);
    expect(unknown.headers.get("retry-after")).toBe("1");
  }
});

test("it is ready when every part answers, and says so line by line", async () => {
  for (const path of ["/_readiness", "/_readyz"]) {
    const reply = await ask(path, { journal: well, postgres: well });
    expect(reply.status).toBe(200);
    expect(await reply.text()).toBe('{"part":"journal","ok":true}\n{"part":"postgres","ok":true}\n');
  }
});

test("a part that fails or hangs makes it unready, and shows no more than a code", async () => {
  const reply = await ask("/_readiness", { journal: well, postgres: refused, clickhouse: hanging });
  expect(reply.status).toBe(503);
  expect(await reply.text()).toBe(
    [
      '{"part":"journal","ok":true}',
      '{"part":"postgres","ok":false,"error":"ECONNREFUSED"}',
      '{"part":"clickhouse","ok":false,"error":"TIMEOUT"}',
      "",
    ].join("\n"),
  );
});

test("captures are ready whatever the stores do, and not when the journal refuses them", async () => {
  const away = { journal: well, postgres: refused, clickhouse: hanging };
  const reply = await ask("/_readiness/capture", away);
  expect([reply.status, await reply.text()]).toEqual([200, '{"part":"journal","ok":true}\n']);
  const full = () => Promise.reject(Object.assign(new Error("full"), { code: "JOURNAL_FULL" }));
  const other = await ask("/_readiness/capture", { ...away, journal: full });
  expect([other.status, await other.text()]).toEqual([
    503,
    '{"part":"journal","ok":false,"error":"JOURNAL_FULL"}\n',
  ]);
});

test("a check that throws at once is a part that fails", async () => {
  const broken = (): Promise<void> => {
    throw new Error("broken");
  };
  const reply = await ask("/_readiness", { journal: broken });
  expect(await reply.text()).toBe('{"part":"journal","ok":false,"error":"FAILED"}\n');
});

test("requests during a check share its answer", async () => {
  let checks = 0;
  const readiness = openReadiness({ journal: async () => void (checks += 1) }, 1000, silentLog);
  await Promise.all([readiness(), readiness(), readiness()]);
  expect(checks).toBe(1);
  await readiness();
  expect(checks).toBe(2);
});

test("a part's failure and recovery are logged once each", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  let check = refused;
  const readiness = openReadiness({ postgres: () => check() }, 1000, log);
  await readiness();
  await readiness();
  check = well;
  await readiness();
  await readiness();
  expect(lines.map((line) => JSON.parse(line).message)).toEqual([
    "a part does not answer",
    "a part answers again",
  ]);
});

test("a problem of a working part is shown, and logged when it changes", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  let amiss: string | undefined = "SHARD_2_REPLICA_1_AWAY";
  const readiness = openReadiness({ clickhouse: async () => amiss }, 1000, log);
  expect(await readiness()).toEqual([{ part: "clickhouse", ok: true, amiss }]);
  await readiness();
  amiss = undefined;
  expect(await readiness()).toEqual([{ part: "clickhouse", ok: true }]);
  await readiness();
  expect(lines.map((line) => JSON.parse(line).message)).toEqual([
    "a part is degraded",
    "all of a part answers again",
  ]);
});

test("metrics are Prometheus text", async () => {
  const reply = await ask("/metrics", {});
  expect(reply.headers.get("content-type")).toBe("text/plain; version=0.0.4");
  expect(await reply.text()).toContain("sluice_events_received_total 0\n");
});

test("metrics show each part's readiness, and wait for none that hangs", async () => {
  const { registry } = openMetrics();
  let journal = well;
  let now = 0;
  const checks = { journal: () => journal(), postgres: refused, clickhouse: hanging };
  const clock = { now: () => now, elapsed: () => now };
  const app = healthRoutes({
    captureChecks: ["journal"],
    storedUntil: async () => 0,
    checks,
    metrics: () => registry.render(),
    registry,
    clock,
    log: silentLog,
    checkMsMax: 5,
  });
  const ready = async () => {
    const text = await (await app.handle(new Request("http://localhost/metrics"))).text();
    return text.split("\n").filter((line) => line.startsWith("sluice_ready{"));
  };
  const rest = ['sluice_ready{part="postgres"} 0', 'sluice_ready{part="clickhouse"} 0'];
  expect(await ready()).toEqual(['sluice_ready{part="journal"} 1', ...rest]);
  journal = refused;
  expect(await ready()).toEqual(['sluice_ready{part="journal"} 1', ...rest]);
  now += 1001;
  expect(await ready()).toEqual(['sluice_ready{part="journal"} 0', ...rest]);
});
