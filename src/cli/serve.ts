// `sluice serve`: runs the server until a signal, and prints its address and first keys.

import type { App } from "../app.ts";
import { withinMs } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { type LogFields, openLog, toReason } from "../core/log.ts";
import { retryUntilDone } from "../work/retry.ts";
import { checkPositionals, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "run the server (what `bun run start` does)",
  help: `usage: bun run sluice serve

Runs the server until SIGTERM or SIGINT, or SIGHUP of its terminal; then it stops accepting, answers the requests
in flight, flushes and exits. Without DATABASE_URL and CLICKHOUSE_URL it starts its own stores under
DATA_DIR. The README lists the settings.

  PORT=9000 DATA_DIR=/var/lib/sluice bun run sluice serve`,
  run,
};

async function run(args: string[], { config, print, terminal }: CliContext): Promise<number> {
  checkPositionals(readArguments(args, []), 0);
  const log = openLog({ level: config.logLevel, format: config.logFormat });
  const stop = Promise.withResolvers<string>();
  const ending = new AbortController();
  // Not removed: a signal is often sent twice, and the second must not interrupt the flush.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.resolve(signal));
  const ignore = (signal: string) =>
    log.warn("signal ignored: settings are read at the start only, logs are not rotated", { signal });
  // A closed terminal ends its programs; a service manager's "reload" must not.
  process.on("SIGHUP", () => (terminal ? stop.resolve("SIGHUP") : ignore("SIGHUP")));
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => ignore(signal));
  for (const [name, setting] of config.misspelt) {
    log.warn("an environment variable resembles a setting", { name, setting });
  }
  void stop.promise.then((signal) => ending.abort(new UserError(`ended by ${signal}`)));
  // Loaded here: it is four fifths of what there is to load, and no other command needs it.
  const { openApp } = await import("../app.ts");
  const { openArchiver } = await import("./backup/archive/send_archive.ts");
  const app = await openApp(config, log, ending.signal, openArchiver(config)).catch((thrown: unknown) => {
    if (thrown !== ending.signal.reason) throw thrown;
  });
  if (!app) return 0;
  const greet = config.logFormat === "json" ? greetJson : greetPretty;
  greet(app, print);
  // A Postgres that fails at this moment ends no server that captures already.
  const failure = "that the first keys were shown could not be recorded; retrying";
  void retryUntilDone(app.shown, { stopping: ending.signal, log, failure });
  const signal = await Promise.race([stop.promise, app.broken]);
  log.info("stopping", typeof signal === "string" ? { signal } : { reason: signal.message });
  await withinMs(app.close(), limits.stopMsMax).catch((thrown: unknown) => {
    log.warn("the stop was cut short; the next start stores the rest", { reason: toReason(thrown) });
  });
  if (typeof signal !== "string") throw signal;
  log.info("stopped");
  return 0;
}

/**
 * One line of JSON. Logs are stored and shipped, so it contains no credential: neither the personal key nor the sign-in
 * link. The command that it names makes a key for the console, too.
 */
function greetJson({ url, bootstrapped: keys }: App, print: (line: string) => void): void {
  const fields: LogFields = { url };
  if (keys?.projectApiKey) fields["project_api_key"] = keys.projectApiKey;
  if (keys?.personalApiKey) {
    fields["personal_api_key"] =
      "not shown in JSON logs; issue one, to sign in at this address too, with: " +
      'bun run sluice key issue --label me --scopes "*"';
  }
  openLog({ level: "info", format: "json", write: print }).info("Sluice is listening", fields);
}

/**
 * Prints what a person needs to send a first event. It is one write: a script that waits for the first line can
 * read the rest at once. Keys from the environment are not printed.
 */
function greetPretty(app: App, print: (line: string) => void): void {
  const { url, bootstrapped: keys } = app;
  const lines = [`Sluice is listening on ${url}`];
  const signInUrl = app.signInUrl();
  if (signInUrl) lines.push(`console (opens once, within an hour):    ${signInUrl}`);
  if (keys) {
    const { projectApiKey, personalApiKey } = keys;
    if (projectApiKey) lines.push(`project API key (for SDKs):              ${projectApiKey}`);
    if (personalApiKey) lines.push(`personal API key (shown only this once): ${personalApiKey}`);
    // A key from the environment is not printed; the command reads it there.
    const key = projectApiKey ?? `'"$BOOTSTRAP_PROJECT_API_KEY"'`;
    lines.push(
      "first event (it can be read about a second later):",
      `  curl ${url}/capture/ -H 'content-type: application/json' \\`,
      `    -d '{"api_key":"${key}","event":"hello","distinct_id":"me"}'`,
    );
  }
  print(lines.join("\n"));
}
