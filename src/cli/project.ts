// `sluice project`: creates and lists projects. A project's API key is public, so it is shown.

import { wrongProjectKey } from "../access/project_keys.ts";
import { Fault, UserError } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { oldestOrganizationId } from "../organizations/store.ts";
import type { Project } from "../projects/model.ts";
import { createProject, listAllProjects } from "../projects/store.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { printRows, withAccounts } from "./accounts.ts";
import { type Arguments, checkPositionals, optionalText, readArguments, requiredText } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

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
    if (verb === "list") return printRows(words, context, listAllProjects, lineOf);
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
    return createOrExplain(sql, { organization_id, name, ...(api_token === undefined ? {} : { api_token }) });
  });
  context.print(words.values["json"] ? JSON.stringify(project) : lineOf(project));
  return 0;
}

async function createOrExplain(sql: Postgres, project: Parameters<typeof createProject>[1]) {
  try {
    return await createProject(sql, project);
  } catch (reason) {
    throw reason instanceof Fault ? new UserError(reason.detail) : reason;
  }
}

function lineOf({ id, api_token, name }: Project): string {
  return `${id}\t${api_token}\t${name}`;
}
