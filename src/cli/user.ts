// `sluice user`: lists users, and sets a password when nobody can sign in.

import { openPasswords } from "../accounts/sign_in/passwords.ts";
import { normalizedEmail } from "../accounts/sign_in/signing.ts";
import { findSigningUser, listAllUsers, resetPassword } from "../accounts/sign_in/user_store.ts";
import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { randomBase62 } from "../core/id.ts";
import { printRows, withAccounts } from "./accounts.ts";
import { type Arguments, checkPositionals, readArguments, requiredText } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

const help = `usage: bun run sluice user list [--json]
       bun run sluice user password --email USER [--keep-keys]

list            prints the address, whether there is a password, and the last sign-in of every user
password        sets a new random password, prints it, and ends the user's sessions, personal API keys and invitations:
                whoever knew the old password may hold some
  --email USER          the user's e-mail address
  --keep-keys           the keys stay, as for a first password

example: bun run sluice user password --email admin@example.com`;

export const userCommand: Command = {
  name: "user",
  summary: "list users, or set a new password",
  help,
  run: async (args, context) => {
    const words = readArguments(args, ["email"], ["json", "keep-keys"]);
    checkPositionals(words, 1);
    const [verb] = words.positionals;
    if (verb === "list") return list(words, context);
    if (verb === "password") return renew(words, context);
    throw new UserError(`expected "user list" or "user password"`, 2);
  },
};

async function list(words: Arguments, context: CliContext): Promise<number> {
  return await printRows(words, context, listAllUsers, ({ email, has_password, last_login }) =>
    [email, has_password ? "password" : "no password", last_login?.toISOString() ?? "never"].join("\t"),
  );
}

/** 24 letters and digits: 142 random bits. */
const passwordChars = 24;

async function renew(words: Arguments, context: CliContext): Promise<number> {
  const email = requiredText(words, "email");
  const password = randomBase62(passwordChars);
  const caller = { owner: "operator", isKnown: true };
  const password_hash = await openPasswords(systemClock).hash(password, caller);
  const keepsKeys = words.values["keep-keys"] === true;
  const { keys, sessions, invitations } = await withAccounts(context, async (sql) => {
    const user = await findSigningUser(sql, normalizedEmail(email));
    if (!user) throw new UserError(`no user has the address ${email}; see bun run sluice user list`);
    return await resetPassword(sql, user.id, password_hash, keepsKeys);
  });
  context.print(password);
  context.printError(`${email} signs in with this password now; it cannot be shown again`);
  context.printError(`ended: personal API keys ${keys}, sessions ${sessions}, invitations ${invitations}`);
  return 0;
}
