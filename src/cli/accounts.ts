// The database of accounts, open while a command runs; and `sluice project`, which creates and lists projects. A
// project's API key is public, so it is shown.

import { wrongProjectKey } from "../access/project_keys.ts";
import { Fault, UserError } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { toCode } from "../core/log.ts";
import { oldestOrganizationId } from "../organizations/store.ts";
import type { Project } from "../projects/model.ts";
import { createProject, listAllProjects } from "../projects/store.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { attachPostgres } from "../storage/stores.ts";
import { type Arguments, checkPositionals, optionalText, readArguments, requiredText } from "./args.ts";
import { openBackupLog } from "./backup.ts";
import type { CliContext, Command } from "./command.ts";

/**
 * Runs `work` on DATABASE_URL, else on the embedded database under DATA_DIR, and closes it afterwards.
 * @throws UserError when the database cannot be reached or has no tables yet.
 */
export async function withAccounts<T>(context: CliContext, work: (sql: Postgres) => Promise<T>): Promise<T> {
  const log = openBackupLog(context.config, (line) => context.printError(line));
  await using accounts = await attachPostgres({ ...context.config, existing: true, log });
  try {
    return await work(accounts.sql);
  } catch (reason) {
    // undefined_table: no server has started on this database.
    if (toCode(reason) === "42P01") {
      throw new UserError(
        'the database has no tables yet: run "bun run sluice migrate" or start the server first',
      );
    }
    throw reason;
  }
}

export async function printRows<Row>(
  words: Arguments,
  context: CliContext,
  list: (sql: Postgres) => Promise<readonly Row[]>,
  formatAccount: (row: Row) => string,
): Promise<number> {
  refuseOptions(words);
  const rows = await withAccounts(context, list);
  const lines = words.values["json"] ? [JSON.stringify(rows)] : rows.map(formatAccount);
  for (const line of lines) context.print(line);
  return 0;
}

/** @throws UserError (exit 2) for an option that another of the command's verbs has. */
export function refuseOptions({ positionals: [verb], values }: Arguments): void {
  const name = Object.keys(values).find((option) => option !== "json");
  if (name !== undefined) throw new UserError(`${verb} has no --${name}`, 2);
}

const help = `usage: bun run sluice project create --name NAME [--organization ID] [--api-key KEY] [--json]
       bun run sluice project list [--json]

create          makes a project and prints its id and API key
  --name NAME           its name, at most 200 characters
  --organization ID     the organization it belongs to (default: the oldest)
  --api-key KEY         its API key, 8 to 64 visible ASCII characters (default: a random one)
list            prints id, API key and name of every project
  --json                prints JSON, as GET /api/projects/ returns it

example: bun run sluice project create --name "Web shop"`;

export const projectCommand: Command = {
  name: "project",
  summary: "create or list projects",
  help,
  run: async (args, context) => {
    const words = readArguments(args, ["name", "organization", "api-key"], ["json"]);
    checkPositionals(words, 1);
    const [verb] = words.positionals;
    if (verb === "create") return create(words, context);
    if (verb === "list") return printRows(words, context, listAllProjects, formatAccount);
    throw new UserError(`expected "project create" or "project list"`, 2);
  },
};

async function create(words: Arguments, context: CliContext): Promise<number> {
  const name = requiredText(words, "name");
  if ([...name].length > 200) throw new UserError("--name must have at most 200 characters", 2);
  const api_token = optionalText(words, "api-key");
  const wrong = api_token === undefined ? undefined : wrongProjectKey(api_token);
  if (wrong) throw new UserError(`--api-key ${wrong}`, 2);
  const organization = optionalText(words, "organization");
  if (organization !== undefined && !isUuid(organization))
    throw new UserError("--organization must be a UUID", 2);

  const project = await withAccounts(context, async (sql) => {
    const organization_id = organization ?? (await oldestOrganizationId(sql));
    if (organization_id === undefined)
      throw new UserError("there is no organization yet: start the server once to make one");
    const fields = { organization_id, name, ...(api_token === undefined ? {} : { api_token }) };
    return await createProject(sql, fields).catch((thrown: unknown) => {
      throw thrown instanceof Fault ? new UserError(thrown.detail) : thrown;
    });
  });
  context.print(words.values["json"] ? JSON.stringify(project) : formatAccount(project));
  return 0;
}

function formatAccount({ id, api_token, name }: Project): string {
  return `${id}\t${api_token}\t${name}`;
}
