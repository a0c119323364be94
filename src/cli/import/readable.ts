// After an import: waits until what was sent can be read, as the server's `GET /_stored` tells.

import type { Clock } from "../../core/clock.ts";
import { importLimits } from "./limits.ts";

export interface WaitOptions {
  /** Without a slash at its end. */
  host: string;
  clock: Clock;
  /** Ends the waiting. */
  stop: AbortSignal;
  pause(ms: number, stop: AbortSignal): Promise<void>;
  /** A line for the person. */
  say(line: string): void;
}

/** `unknown`: the server does not tell. `late`: it did not come further for importLimits.importReadableMsMax. */
export type Readable = "readable" | "unknown" | "late" | "interrupted";

export async function waitUntilReadable(options: WaitOptions): Promise<Readable> {
  const { host, clock, stop, pause, say } = options;
  // The server's time after it has answered for the last body.
  let sentAt: number | undefined;
  let [furthest, movedAt, saidAt] = [Number.NEGATIVE_INFINITY, clock.elapsed(), clock.elapsed()];
  say("all is sent; waiting until it can be read (--no-wait does not)");
  for (;;) {
    const stored = await lookAt(host);
    if (stored === "unknown") return "unknown";
    const until = stored?.until ?? Number.NEGATIVE_INFINITY;
    sentAt ??= stored?.now;
    if (sentAt !== undefined && until >= sentAt) return "readable";
    const now = clock.elapsed();
    if (until > furthest) [furthest, movedAt] = [until, now];
    if (now - movedAt > importLimits.importReadableMsMax) return "late";
    if (now - saidAt > sayGapMs && sentAt !== undefined && Number.isFinite(until)) {
      saidAt = now;
      say(`what came before ${clockText(until)} can be read, ${clockText(sentAt)} is waited for`);
    }
    await pause(askAgainMs, stop);
    if (stop.aborted) return "interrupted";
  }
}

const askAgainMs = 250;
const sayGapMs = 5000;

/** What the server says, in ms; undefined when it cannot tell just now. */
async function lookAt(host: string): Promise<{ until: number; now: number } | "unknown" | undefined> {
  try {
    const signal = AbortSignal.timeout(importLimits.importStoredMsMax);
    const reply = await fetch(`${host}/_stored`, { redirect: "manual", signal });
    const text = await reply.text();
    if (reply.status >= 500) return undefined;
    if (!reply.ok) return "unknown";
    const said = JSON.parse(text) as { stored_until?: unknown; now?: unknown };
    const [until, now] = [momentOf(said.stored_until), momentOf(said.now)];
    return Number.isFinite(until) && Number.isFinite(now) ? { until, now } : "unknown";
  } catch (thrown) {
    return thrown instanceof SyntaxError ? "unknown" : undefined;
  }
}

function momentOf(text: unknown): number {
  return typeof text === "string" ? Date.parse(text) : Number.NaN;
}

function clockText(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}
