// After an import: waits until its events can be read, according to the server's `GET /_stored`.

import { importLimits } from "./limits.ts";
import type { ImportParts } from "./options.ts";

/** `unknown`: the server has no `/_stored`. `late`: no progress for importLimits.readableMsMax. */
export type Readability = "readable" | "unknown" | "late" | "interrupted";

/** Polls until everything sent before the first reply can be read, progress stops, or `stop` aborts. */
export async function waitUntilReadable(
  host: string,
  { clock, pause, printError: print }: Pick<ImportParts, "clock" | "pause" | "printError">,
  stop: AbortSignal,
): Promise<Readability> {
  // The server's time after it has answered the last body.
  let sentAt: number | undefined;
  let [furthest, movedAt, printedAt] = [Number.NEGATIVE_INFINITY, clock.elapsed(), clock.elapsed()];
  print("all is sent; waiting until it can be read (skip this with --no-wait)");
  for (;;) {
    const stored = await readStored(host);
    if (stored === "unknown") return "unknown";
    const until = stored?.until ?? Number.NEGATIVE_INFINITY;
    sentAt ??= stored?.now;
    if (sentAt !== undefined && until >= sentAt) return "readable";
    const now = clock.elapsed();
    if (until > furthest) [furthest, movedAt] = [until, now];
    if (now - movedAt > importLimits.readableMsMax) return "late";
    if (now - printedAt > printGapMs && sentAt !== undefined && Number.isFinite(until)) {
      printedAt = now;
      print(`events up to ${clockText(until)} can be read; waiting for ${clockText(sentAt)}`);
    }
    await pause(pollGapMs, stop);
    if (stop.aborted) return "interrupted";
  }
}

const pollGapMs = 250;
const printGapMs = 5000;

/** The server's times in ms since 1970; undefined when the server does not answer at the moment. */
async function readStored(host: string): Promise<{ until: number; now: number } | "unknown" | undefined> {
  try {
    const signal = AbortSignal.timeout(importLimits.storedMsMax);
    const reply = await fetch(`${host}/_stored`, { redirect: "manual", signal });
    const text = await reply.text();
    if (reply.status >= 500) return undefined;
    if (!reply.ok) return "unknown";
    const times = JSON.parse(text) as { stored_until?: unknown; now?: unknown };
    const [until, now] = [momentOf(times.stored_until), momentOf(times.now)];
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
