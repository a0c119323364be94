// `sluice import`: moves event files into a project through /batch. Never talks to a store.

import { systemClock } from "../core/clock.ts";
import type { CliContext, Command } from "./command.ts";
import { bodyLimits } from "./import/body.ts";
import { readImportOptions } from "./import/options.ts";
import type { Readable } from "./import/readable.ts";
import { type ImportEnd, type ImportParts, runImport } from "./import/run.ts";
import { grouped, sumOf } from "./import/tally.ts";

const help = `Usage: bun run sluice import FILE… [options]

Sends the events in files to a server as a historical migration. FILE may be packed with gzip or zstd; - is
standard input.

Options:
  --host URL         the server (default http://127.0.0.1:PORT)
  --api-key KEY      the project's key (default BOOTSTRAP_PROJECT_API_KEY)
  --format FORMAT    auto (default: looks at each file), or one of
                       jsonl   an event a line, like an item of /batch: event, distinct_id, timestamp, …
                       json    the same in an array, or in {"batch": […]} or {"results": […]}
                       csv     a header with event, distinct_id and timestamp; uuid and properties (JSON) too
                               if you like; every other column becomes a property that is text
                       posthog, mixpanel, amplitude, segment   their exports, as JSON Lines or JSON
  --concurrency N    batches on their way at once (default 4)
  --state FILE       the checkpoint (default: beside the first FILE, as FILE.sluice-import)
  --no-wait          does not wait until what was sent can be read
  --dry-run          reads and checks everything, sends nothing; needs neither server nor key
  --json             the last line is {"sent":n,"accepted":n,"ignored":n,"rejected":n}

Interrupted or failed, the same line again goes on where it ended; when all is done the checkpoint goes away.
Importing a file twice does no harm: an event without a uuid gets one that depends on its line alone, and the
second of two equal lines in one command counts as another event. The server counts what it was sent as accepted
also when it had it already; only once it is stored are equal uuids one event.
A line is rejected, and told as FILE:LINE: reason, when it is not an event of its format or longer than 4
MiB, or when its timestamp is missing, cannot be read, or lies in the future or before 1900: the server would
put the time of the import in its place. The rest is imported all the same. What the server makes no event of
counts as ignored.

Exits 0 when every record was sent (or would be, in a dry run), 1 when one was rejected or the import did not
come to its end, 2 on wrong use.

Example: bun run sluice import events-2024.jsonl.gz --api-key phc_…`;

export const importCommand: Command = {
  name: "import",
  summary: "move event files (JSON, CSV; PostHog, Mixpanel, Amplitude, Segment exports) into a project",
  help,
  run: async (args, context) => await runImportCommand(args, context),
};

/** `overrides`: what a test hands in instead of the clock, the signal and the rest. */
export async function runImportCommand(
  args: string[],
  context: CliContext,
  overrides: Partial<ImportParts> = {},
): Promise<number> {
  const options = readImportOptions(args, context.config);
  const interrupt = new AbortController();
  const onSignal = (): void => interrupt.abort();
  // Once: who asks a second time does not want to wait.
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    const end = await runImport(options, {
      clock: systemClock,
      signal: interrupt.signal,
      terminal: context.terminal,
      complain: (line) => context.complain(line),
      draw: (text) => void process.stderr.write(text),
      pause,
      random: Math.random,
      input: () => Bun.stdin.stream(),
      bodyLimits,
      ...overrides,
    });
    tell(end, options.dryRun, options.json, context);
    return end.failure === undefined && end.counts.rejected === 0 ? 0 : 1;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

function tell(end: ImportEnd, dryRun: boolean, json: boolean, context: CliContext): void {
  const { counts } = end;
  const ignored = sumOf(counts.ignored);
  const lines = [`${dryRun ? "would send" : "sent"} ${grouped(counts.sent)}`];
  if (!dryRun)
    lines.push(
      `accepted ${grouped(counts.accepted)}`,
      `ignored ${grouped(ignored)}${reasons(counts.ignored)}`,
    );
  lines.push(`rejected ${grouped(counts.rejected)}`);
  if (sumOf(counts.skipped) > 0)
    lines.push(`skipped ${grouped(sumOf(counts.skipped))}${reasons(counts.skipped)}`);
  if (end.readable !== undefined) lines.push(readableText[end.readable]);
  // With --json, standard output is for the program that reads it.
  // An import that failed before anything came of it has one thing to say.
  const silent = end.failure !== undefined && counts.sent + counts.rejected === 0;
  for (const line of silent ? [] : lines) {
    if (json) context.complain(line);
    else context.print(line);
  }
  if (end.failure !== undefined) {
    const hint = end.checkpoint === undefined ? "" : `; the same line again goes on from ${end.checkpoint}`;
    context.complain(`${end.failure}${hint}`);
  }
  if (!json) return;
  const { sent, accepted, rejected } = counts;
  context.print(JSON.stringify({ sent, accepted, ignored, rejected }));
}

const readableText: Record<Readable, string> = {
  readable: "all of it can be read now",
  unknown: "it can be read in a moment (the server does not say when)",
  late: "it is kept, but cannot be read yet: see the server's /_readiness and its log",
  interrupted: "it is kept, and can be read in a moment",
};

function reasons(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return sorted.length === 0
    ? ""
    : ` (${sorted.map(([reason, count]) => `${reason} ${grouped(count)}`).join(", ")})`;
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const onStop = (): void => resolve();
  stop.addEventListener("abort", onStop, { once: true });
  await promise;
  clearTimeout(timer);
  stop.removeEventListener("abort", onStop);
}
