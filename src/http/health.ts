// Whether the process lives, whether its parts answer, and what it has counted. Never says more of a failure
// than its code: anybody may ask.

import { Elysia } from "elysia";
import { withinMs } from "../core/deadline.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";

/** Resolves when the part is well, throws when it is not. Held to `limits.healthMsMax`. */
export type HealthCheck = () => Promise<void>;

export interface HealthOptions {
  /** By the name each part has in the reply, in the order they are shown. */
  checks: Readonly<Record<string, HealthCheck>>;
  /** What `/metrics` shows. */
  metrics(): string | Promise<string>;
  log: Log;
  checkMsMax?: number;
}

export interface PartHealth {
  part: string;
  ok: boolean;
  /** A short code, when it is not. */
  error?: string;
}

export function healthRoutes({ checks, metrics, log, checkMsMax = limits.healthMsMax }: HealthOptions) {
  const readiness = openReadiness(checks, checkMsMax, log);
  const ready = async (): Promise<Response> => {
    const parts = await readiness();
    const status = parts.every((part) => part.ok) ? 200 : 503;
    const lines = parts.map((part) => `${JSON.stringify(part)}\n`).join("");
    return new Response(lines, { status, headers: { "content-type": "application/x-ndjson" } });
  };
  const alive = (): Response =>
    new Response("ok\n", { headers: { "content-type": "text/plain; charset=utf-8" } });
  const app = new Elysia({ name: "health" });
  const hidden = { detail: { hide: true } };
  for (const path of ["/_health", "/_livez", "/_liveness"]) app.get(path, alive, hidden);
  for (const path of ["/_readiness", "/_readyz"]) app.get(path, ready, hidden);
  return app.get(
    "/metrics",
    async () => new Response(await metrics(), { headers: { "content-type": "text/plain; version=0.0.4" } }),
    hidden,
  );
}

/**
 * Checks every part at once. Those who ask while a check runs share its answer, so that asking costs stores
 * little.
 */
export function openReadiness(
  checks: HealthOptions["checks"],
  checkMsMax: number,
  log: Log,
): () => Promise<PartHealth[]> {
  const unwell = new Set<string>();
  let running: Promise<PartHealth[]> | undefined;

  const checkPart = async ([part, check]: [string, HealthCheck]): Promise<PartHealth> => {
    try {
      await withinMs(check(), checkMsMax);
      if (unwell.delete(part)) log.info("a part answers again", { part });
      return { part, ok: true };
    } catch (reason) {
      if (!unwell.has(part)) log.warn("a part does not answer", { part, reason: reasonOf(reason) });
      unwell.add(part);
      return { part, ok: false, error: codeOf(reason) };
    }
  };

  return () => {
    running ??= Promise.all(Object.entries(checks).map(checkPart)).finally(() => {
      running = undefined;
    });
    return running;
  };
}

function codeOf(reason: unknown): string {
  const code = reason instanceof Error && "code" in reason ? String(reason.code) : "";
  return /^[A-Z0-9_]{1,40}$/.test(code) ? code : "FAILED";
}
