// Health, readiness and metrics endpoints. A failure is shown as a short code only, since anybody may read it.

import { createHash, timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import { type Clock, withinMs } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { type Log, silentLog, toCode, toReason } from "../../core/log.ts";
import { readBackupOutcomes } from "../../storage/backup_outcomes.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import { readSilences } from "../../storage/watermark.ts";
import { httpLimits } from "../limits.ts";
import type { Registry } from "./metrics.ts";

/**
 * Resolves when the part works: to a short text about a problem, or to undefined without one; rejects when it does not
 * work. Limited to `limits.healthMsMax`.
 */
type HealthCheck = () => Promise<string | undefined | void>;

export interface HealthOptions extends Uses<"clock" | "log"> {
  /** The checks by the name that replies show, in that order. */
  checks: Readonly<Record<string, HealthCheck>>;
  /** The checks without which no capture is acknowledged. */
  captureChecks: readonly string[];
  /** Every event accepted before this time, in ms since 1970, can be read. */
  storedUntil(): Promise<number>;
  metrics(): string | Promise<string>;
  /** The bearer token that `/metrics` requires; undefined opens it to anybody. */
  metricsToken?: string | undefined;
  /** The registry of the readiness of each part. */
  registry: Registry;
  checkMsMax?: number;
}

interface PartHealth {
  part: string;
  ok: boolean;
  /** Why it is not ready: a code of at most 40 characters. */
  error?: string;
  /** A problem of a part that is ready. */
  amiss?: string;
}

export function healthRoutes(options: HealthOptions) {
  const { checks, metrics, metricsToken, registry, clock, log, checkMsMax = limits.healthMsMax } = options;
  const readiness = openReadiness(checks, checkMsMax, log);
  const ofCapture = Object.entries(checks).filter(([part]) => options.captureChecks.includes(part));
  const captureReadiness = openReadiness(Object.fromEntries(ofCapture), checkMsMax, silentLog);
  const stored = openStored(options.storedUntil, clock, checkMsMax);
  const latest = { parts: [] as PartHealth[], at: Number.NEGATIVE_INFINITY };
  const readWellness = (): [string, number][] => latest.parts.map(({ part, ok }) => [part, ok ? 1 : 0]);
  registry.gauges("sluice_ready", "Whether a part is ready: 1, or 0.", "part", readWellness);
  const refresh = async () => void Object.assign(latest, { parts: await readiness(), at: clock.elapsed() });
  const answerReady = (check: () => Promise<PartHealth[]>) => async (): Promise<Response> => {
    const parts = await check();
    const status = parts.every((part) => part.ok) ? 200 : 503;
    const lines = parts.map((part) => `${JSON.stringify(part)}\n`).join("");
    return new Response(lines, { status, headers: { "content-type": "application/x-ndjson" } });
  };
  const alive = () => new Response("ok\n", { headers: { "content-type": "text/plain; charset=utf-8" } });
  const app = new Elysia({ name: "health" });
  const hidden = { detail: { hide: true } };
  for (const path of ["/_health", "/_livez", "/_liveness"]) app.get(path, alive, hidden);
  for (const path of ["/_readiness", "/_readyz"]) app.get(path, answerReady(readiness), hidden);
  app.get("/_readiness/capture", answerReady(captureReadiness), hidden);
  app.get("/_stored", stored, hidden);
  return app.get(
    "/metrics",
    async ({ request }) => {
      if (metricsToken !== undefined) requireBearer(request, metricsToken);
      const isOld = clock.elapsed() - latest.at > httpLimits.readinessAgeMsMax;
      // A part that hangs shows its last state until its check times out.
      if (isOld) await withinMs(refresh(), httpLimits.readinessWaitMs).catch(() => {});
      return new Response(await metrics(), { headers: { "content-type": "text/plain; version=0.0.4" } });
    },
    hidden,
  );
}

/**
 * Answers `{"stored_until": time, "now": time}`, which shows how far reading lags behind capture, or 503 when it is
 * not known. Requests within httpLimits.storedAgainMs share one answer, to spare Postgres.
 */
function openStored(storedUntil: () => Promise<number>, clock: Clock, checkMsMax: number) {
  let latest: { requestedAt: number; answer: Promise<number> } | undefined;
  return async () => {
    const requestedAt = clock.elapsed();
    if (!latest || requestedAt - latest.requestedAt > httpLimits.storedAgainMs)
      latest = { requestedAt, answer: storedUntil() };
    try {
      const until = await withinMs(latest.answer, checkMsMax);
      // The time of the reply: whoever tells the clocks' difference by it is off by the reply's way alone.
      const now = new Date(clock.now()).toISOString();
      return Response.json({ stored_until: new Date(until).toISOString(), now });
    } catch {
      return Response.json({ stored_until: null }, { status: 503, headers: { "retry-after": "1" } });
    }
  };
}

/**
 * Compares digests, so that the duration reveals nothing about the token.
 * @throws Fault not_authenticated, authentication_failed
 */
function requireBearer(request: Request, token: string): void {
  const header = request.headers.get("authorization");
  if (header === null) throw new Fault("not_authenticated", "Authentication credentials were not provided.");
  const digest = (text: string) => createHash("sha256").update(text).digest();
  if (timingSafeEqual(digest(header), digest(`Bearer ${token}`))) return;
  throw new Fault("authentication_failed", "The bearer token is not METRICS_TOKEN.");
}

/** Checks every part at once. Requests during a check share its result, to spare the stores. */
export function openReadiness(checks: HealthOptions["checks"], checkMsMax: number, log: Log) {
  const unwell = new Set<string>();
  const reported = new Map<string, string>();
  let running: Promise<PartHealth[]> | undefined;

  const checkPart = async ([part, check]: [string, HealthCheck]): Promise<PartHealth> => {
    try {
      const amiss = (await withinMs(check(), checkMsMax)) ?? "";
      if (unwell.delete(part)) log.info("a part answers again", { part });
      const before = reported.get(part) ?? "";
      if (amiss === "" && before !== "") log.info("all of a part answers again", { part });
      if (amiss !== "" && amiss !== before) log.warn("a part is degraded", { part, amiss });
      reported.set(part, amiss);
      return { part, ok: true, ...(amiss !== "" && { amiss }) };
    } catch (reason) {
      if (!unwell.has(part)) log.warn("a part does not answer", { part, reason: toReason(reason) });
      unwell.add(part);
      const code = toCode(reason);
      return { part, ok: false, error: /^[A-Z0-9_]{1,40}$/.test(code) ? code : "FAILED" };
    }
  };

  return () => {
    const check = () => Promise.all(Object.entries(checks).map(checkPart));
    return (running ??= check().finally(() => void (running = undefined)));
  };
}

/**
 * Follows how long ago the server of each journal reported, so that the remaining servers notice one that is gone. The
 * check resolves to a text when there are servers that do not report.
 */
export function followSilence(registry: Registry, sql: Postgres, clock: Clock): HealthCheck {
  let silences: [journal: string, seconds: number][] = [];
  const help = "Seconds since the server of a journal, this one or another, last reported to Postgres.";
  registry.gauges("sluice_journal_silence_seconds", help, "journal", () => silences);
  return async () => {
    silences = await readSilences(sql, clock.now());
    const silentCount = silences.filter(([, seconds]) => seconds > limits.serverSilentSecondsMax).length;
    return silentCount === 0 ? undefined : `servers of ${silentCount} journals do not report`;
  };
}

/** Shows when what is in the last backup of DATA_DIR was read, and when one failed; nothing before the first. */
export function followBackups(registry: Registry, dataDir: string): void {
  const outcomes = [
    ["done", "success", "of the beginning of the last backup of DATA_DIR that was finished"],
    ["failed", "failure", "at which a backup of DATA_DIR failed last"],
  ] as const;
  for (const [outcome, name, moment] of outcomes) {
    const help = `The time ${moment}, in seconds since 1970; no line before the first.`;
    registry.followed("gauge", `sluice_backup_last_${name}_timestamp_seconds`, help, () => {
      const at = readBackupOutcomes(dataDir)[outcome];
      return at === undefined ? undefined : at / 1000;
    });
  }
}
