// `sluice import`: sends the events in files to a project through /batch.

import { sleep, systemClock } from "../core/clock.ts";
import type { CliContext, Command } from "./command.ts";
import { bodyLimits } from "./import/body.ts";
import { formatCount, sumCounts } from "./import/counts.ts";
import { type ImportParts, type Readability, readImportOptions } from "./import/options.ts";
import { type ImportEnd, runImport } from "./import/run.ts";

const help = `Usage: bun run sluice import FILE… [options]

Sends the events in files to a server as a historical migration. FILE may be compressed with gzip or zstd; - is
standard input.

Options:
  --host URL         the server (default http://127.0.0.1:PORT)
  --api-key KEY      the project's key (default BOOTSTRAP_PROJECT_API_KEY)
  --format FORMAT    auto (default: detected), or one of
                       jsonl   one event per line, like an item of /batch: event, distinct_id, timestamp, …
                       json    the same in an array, or in {"batch": […]} or {"results": […]}
                       csv     a header with event, distinct_id and timestamp, and optionally uuid and
                               properties (JSON); every other column becomes a text property
                       posthog, mixpanel, amplitude, segment   their exports, as JSON Lines or JSON
  --dates ORDER      day-first or month-first: reads 06.05.2024 and 6/5/2024, which are rejected otherwise
  --concurrency N    batches sent at the same time (default 4)
  --state FILE       the checkpoint (default: beside the first FILE, as FILE.sluice-import)
  --no-wait          ends when all events are on disk, before they are queryable
  --dry-run          reads and checks everything, sends nothing; needs neither server nor key
  --json             the last line is {"sent":n,"accepted":n,"ignored":n,"rejected":n}

After an interruption or a failure, the same command resumes the import; the checkpoint is removed at the end.
A file can be imported twice: an event without a uuid gets one that depends on its line alone, and the second of
two equal lines in one command counts as another event. The server counts such events as accepted again, and
stores those with equal uuids as one.
A line is rejected and printed as FILE:LINE: reason when it is not an event of its format, when it is longer
than 4 MiB, or when its timestamp is missing, cannot be read, or is in the future or before 1900 (the server
would replace it with the time of the import). The other lines are imported. Lines that the server accepts but
makes no event of count as ignored.

Exit code: 0 when every record was sent (or would be, in a dry run), 1 when one was rejected or the import ended
early, 2 for wrong arguments.

Example: bun run sluice import events-2024.jsonl.gz --api-key phc_…`;

export const importCommand: Command = {
  name: "import",
  summary: "move event files (JSON, CSV; PostHog, Mixpanel, Amplitude, Segment exports) into a project",
  help,
  run: async (args, context) => await runImportCommand(args, context),
};

/** Runs the command; resolves to its exit code. `overrides`: tests replace the clock, the signal and others. */
export async function runImportCommand(
  args: string[],
  context: CliContext,
  overrides: Partial<ImportParts> = {},
): Promise<number> {
  const options = readImportOptions(args, context.config);
  const interrupt = new AbortController();
  const onSignal = (): void => interrupt.abort();
  // Only once: a second signal ends the process at once.
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  try {
    const end = await runImport(options, {
      clock: systemClock,
      signal: interrupt.signal,
      terminal: context.terminal,
      printError: (line) => context.printError(line),
      draw: (text) => void process.stderr.write(text),
      pause: sleep,
      random: Math.random,
      input: () => Bun.stdin.stream(),
      bodyLimits,
      ...overrides,
    });
    printSummary(end, options.dryRun, options.json, context);
    return end.failure === undefined && end.counts.rejected === 0 ? 0 : 1;
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

function printSummary(end: ImportEnd, dryRun: boolean, json: boolean, context: CliContext): void {
  const { counts } = end;
  const ignored = sumCounts(counts.ignored);
  const warned = sumCounts(counts.warned);
  const skipped = sumCounts(counts.skipped);
  const lines = [
    `${dryRun ? "would send" : "sent"} ${formatCount(counts.sent)}`,
    !dryRun && `accepted ${formatCount(counts.accepted)}`,
    !dryRun && `ignored ${formatCount(ignored)}${reasons(counts.ignored)}`,
    `rejected ${formatCount(counts.rejected)}`,
    warned > 0 && `with warnings ${formatCount(warned)}${reasons(counts.warned)}`,
    skipped > 0 && `skipped ${formatCount(skipped)}${reasons(counts.skipped)}`,
    end.readable !== undefined && readableText[end.readable],
  ].filter((line) => line !== false);
  // An import that failed before its first row prints only the failure. With --json, standard output is JSON only.
  const silent = end.failure !== undefined && counts.sent + counts.rejected === 0;
  for (const line of silent ? [] : lines) {
    if (json) context.printError(line);
    else context.print(line);
  }
  if (end.failure !== undefined) {
    const hint =
      end.checkpoint === undefined ? "" : `; the same command again resumes from ${end.checkpoint}`;
    context.printError(`${end.failure}${hint}`);
  }
  if (!json) return;
  const { sent, accepted, rejected } = counts;
  context.print(JSON.stringify({ sent, accepted, ignored, rejected }));
}

const readableText: Record<Readability, string> = {
  readable: "all of it can be read now",
  unknown: "it will be queryable in a moment (the server does not report when)",
  late: "it is stored on disk, but not queryable yet: see the server's /_readiness and its log",
  interrupted: "it is stored on disk, and will be queryable in a moment",
};

function reasons(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return sorted.length === 0
    ? ""
    : ` (${sorted.map(([reason, count]) => `${reason} ${formatCount(count)}`).join(", ")})`;
}
