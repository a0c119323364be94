// sluice serve: the server, from its first words to its last. Holds no logic of the server itself.

import { openApp } from "../app.ts";
import { UserError } from "../core/fault.ts";
import { type LogFields, openLog } from "../core/log.ts";
import type { Bootstrapped } from "../accounts/bootstrap.ts";
import type { CliContext, Command } from "./command.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "run the server (what `bun run start` does)",
  help: `usage: bun run sluice serve

Runs the server until SIGTERM or SIGINT, then stops accepting, answers what is in flight, flushes and exits.
Without DATABASE_URL and CLICKHOUSE_URL it starts stores of its own under DATA_DIR. The README lists
every setting.

  PORT=9000 DATA_DIR=/var/lib/sluice bun run sluice serve`,
  run,
};

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  if (args.length > 0) throw new UserError(`unknown option "${args[0]}"; bun run sluice serve --help`, 2);
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const stop = Promise.withResolvers<string>();
  // Kept for good: a terminal or a runner often sends a signal twice, and the second must not cut the flush
  // short.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.resolve(signal));
  const app = await openApp(config, log);
  greet(app.url, app.bootstrapped, { print, json: config.logFormat === "json" });
  await app.shown();
  const signal = await Promise.race([stop.promise, app.broken]);
  log.info("stopping", typeof signal === "string" ? { signal } : { reason: signal.message });
  await app.close();
  if (typeof signal !== "string") throw signal;
  log.info("stopped");
  return 0;
}

interface Greeting {
  print(line: string): void;
  /** Whether lines are read by machines. */
  json: boolean;
}

function greet(url: string, made: Bootstrapped | undefined, { print, json }: Greeting): void {
  if (json) greetMachines(url, made, print);
  else greetPeople(url, made, print);
}

/** One line of JSON: logs are kept and shipped, so the personal key is not in it. */
function greetMachines(url: string, made: Bootstrapped | undefined, print: (line: string) => void): void {
  const fields: LogFields = { url };
  if (made?.projectApiKey) fields["project_api_key"] = made.projectApiKey;
  if (made?.personalApiKey) {
    fields["personal_api_key"] =
      'not shown in JSON logs; issue one with: bun run sluice key issue --label me --scopes "*"';
  }
  openLog({ level: "info", format: "json", write: print }).info("Sluice is listening", fields);
}

/**
 * What a person needs to send a first event, in one write: who waits for its first line may read on. Keys they gave us
 * themselves are not repeated.
 */
function greetPeople(url: string, made: Bootstrapped | undefined, print: (line: string) => void): void {
  const lines = [`Sluice is listening on ${url}`];
  if (made) {
    const { projectApiKey, personalApiKey } = made;
    if (projectApiKey) lines.push(`project API key (for SDKs):              ${projectApiKey}`);
    if (personalApiKey) lines.push(`personal API key (shown only this once): ${personalApiKey}`);
    // The operator's own key is not shown, but the line works wherever it is still in the environment.
    const key = projectApiKey ?? `'"$BOOTSTRAP_PROJECT_API_KEY"'`;
    lines.push(
      "first event (it can be read about a second later):",
      `  curl ${url}/capture/ -H 'content-type: application/json' \\`,
      `    -d '{"api_key":"${key}","event":"hello","distinct_id":"me"}'`,
    );
  }
  print(lines.join("\n"));
}
