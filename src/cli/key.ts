// `sluice key`: issues, lists and revokes personal API keys. A key is shown once, when it is issued.

import { isScope } from "../access/scope.ts";
import { UserError } from "../core/fault.ts";
import { labelCharsMax, type PersonalKey } from "../personal_api_keys/model.ts";
import { findUserId, issueKey, listAllKeys, revokeKey } from "../personal_api_keys/store.ts";
import { printRows, refuseOptions, withAccounts } from "./accounts.ts";
import { type Arguments, checkPositionals, optionalText, readArguments, requiredText } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

const help = `usage: bun run sluice key issue --label LABEL --scopes SCOPE,SCOPE… [--email USER] [--json]
       bun run sluice key list [--json]
       bun run sluice key revoke ID

issue           makes a personal API key and prints it; it cannot be shown again
  --label LABEL         what it is for, at most ${labelCharsMax} characters
  --scopes SCOPES       what it may do: * for everything, or a list like project:read,query:read
  --email USER          the user it belongs to (default: the first user)
list            prints id, masked key, scopes, user and label of every key
revoke          revokes a key at once

example: bun run sluice key issue --label "nightly report" --scopes query:read,project:read`;

export const keyCommand: Command = {
  name: "key",
  summary: "issue, list or revoke personal API keys",
  help,
  run: async (args, context) => {
    const words = readArguments(args, ["label", "scopes", "email"], ["json"]);
    const [verb] = words.positionals;
    checkPositionals(words, verb === "revoke" ? 2 : 1);
    if (verb === "issue") return issue(words, context);
    if (verb === "list") return printRows(words, context, listAllKeys, formatKey);
    if (verb === "revoke") return revoke(words, context);
    throw new UserError(`expected "key issue", "key list" or "key revoke"`, 2);
  },
};

async function issue(words: Arguments, context: CliContext): Promise<number> {
  const label = requiredText(words, "label");
  if ([...label].length > labelCharsMax) {
    throw new UserError(`--label must have at most ${labelCharsMax} characters`, 2);
  }
  const scopes = readScopes(requiredText(words, "scopes"));
  const email = optionalText(words, "email");
  const issued = await withAccounts(context, async (sql) => {
    const user_id = await findUserId(sql, email);
    if (user_id !== undefined) return issueKey(sql, user_id, { label, scopes });
    throw new UserError(
      email ? `no user has the address ${email}` : "there is no user yet: start the server once",
    );
  });
  if (words.values["json"]) {
    context.print(JSON.stringify(issued));
  } else {
    context.print(issued.value);
    context.printError(`key ${issued.id} issued; it cannot be shown again`);
  }
  return 0;
}

async function revoke(words: Arguments, context: CliContext): Promise<number> {
  refuseOptions(words);
  const id = words.positionals[1];
  if (id === undefined) throw new UserError("key revoke needs the key's id; see bun run sluice key list", 2);
  const revoked = await withAccounts(context, (sql) => revokeKey(sql, id, null));
  if (!revoked) throw new UserError(`no key has the id ${id}; see bun run sluice key list`);
  context.print(words.values["json"] ? JSON.stringify({ id, revoked }) : `key ${id} revoked`);
  return 0;
}

function readScopes(text: string): string[] {
  const scopes = [...new Set(text.split(",").map((scope) => scope.trim()))];
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new UserError(`Invalid scope: "${wrong}"; scopes look like project:read, or *`, 2);
  return scopes;
}

function formatKey({ id, mask_value, scopes, label, email }: PersonalKey & { email: string }): string {
  return [id, mask_value, scopes.join(","), email, label].join("\t");
}
