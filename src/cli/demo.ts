// `sluice demo`: makes a project with the events of a made-up shop in a running server, and takes it away again.

import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { demoName, type DemoProject, makeDemo, type Send } from "../demo/demo.ts";
import { checkPositionals, optionalText, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";
import { readHost } from "./import/options.ts";

const help = `usage: bun run sluice demo [--host URL] [--key KEY] [--remove]

makes a project "${demoName}" in a running server: ninety days of visits, orders and companies, a dashboard and a
recording, sent the way that apps send them

  --host URL    the server (default: http://127.0.0.1:PORT)
  --key KEY     a personal API key that may do everything (default: BOOTSTRAP_PERSONAL_API_KEY)
  --remove      deletes each project of that name, with all that is in it

example: bun run sluice demo --key phx_…`;

/** The longest wait for an answer. */
const answerMsMax = 60_000;

export const demoCommand: Command = {
  name: "demo",
  summary: "make a project with the events of a made-up shop, or take it away",
  help,
  run: async (args, context) => {
    const words = readArguments(args, ["host", "key"], ["remove"]);
    checkPositionals(words, 0);
    const { config } = context;
    const host = readHost(optionalText(words, "host") ?? `http://127.0.0.1:${config.port}`);
    const key = optionalText(words, "key") ?? config.bootstrapPersonalApiKey;
    if (!key) throw new UserError("name a personal API key with --key or BOOTSTRAP_PERSONAL_API_KEY", 2);
    const send = openSend(host, key);
    if (words.values["remove"]) return await removeDemos(send, context);
    const report = (events: number) => context.terminal && context.printError(`${events} events are sent`);
    const { id } = await makeDemo(send, systemClock.now(), report);
    context.print(
      `${host}/#/${id}/overview has the project "${demoName}"; bun run sluice demo --remove takes it away`,
    );
    return 0;
  },
};

async function removeDemos(send: ReturnType<typeof openSend>, { print }: CliContext): Promise<number> {
  const { results } = await send<{ results: (DemoProject & { name: string })[] }>(
    "GET",
    "/api/projects/?limit=10000",
  );
  const demos = results.filter(({ name }) => name === demoName);
  for (const { id } of demos) await send("DELETE", `/api/projects/${id}/`);
  print(`${demos.length} projects are removed`);
  return 0;
}

/** Requests with this key. @throws UserError with the server's sentence where it refuses one. */
function openSend(host: string, key: string) {
  return async <Reply>(method: "GET" | Parameters<Send>[0], path: string, body?: object): Promise<Reply> => {
    const reply = await fetch(`${host}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
      redirect: "manual",
      signal: AbortSignal.timeout(answerMsMax),
    }).catch((reason: unknown) => {
      throw new UserError(
        `${host} does not answer: ${reason instanceof Error ? reason.message : String(reason)}`,
      );
    });
    const text = await reply.text();
    if (!reply.ok) throw new UserError(`${path} was refused (${reply.status}): ${text.slice(0, 300)}`);
    return (text === "" ? undefined : JSON.parse(text)) as Reply;
  };
}
