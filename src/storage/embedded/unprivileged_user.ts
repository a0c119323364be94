// Postgres refuses to run as root. When the server runs as root, Postgres runs as an existing user without rights.

import { chownSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../../core/fault.ts";
import type { Log } from "../../core/log.ts";

/** The PATH of the commands below and of Postgres: a server's own may have nothing but Bun. */
export const postgresEnv: Record<string, string> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
};

export interface UnprivilegedUser {
  /** A prefix that runs a command as this user. */
  command: string[];
  /** Makes this user the owner of a file, or of a folder with its contents. */
  chown(path: string): void;
}

const nobodyElse: UnprivilegedUser = { command: [], chown: () => {} };

/**
 * The user that runs Postgres: our own, or for root an existing user `postgres` or `nobody`.
 * That user must reach DATA_DIR and the binary, which may lie below folders that only root may enter (`mktemp -d`, a
 * home): where possible it keeps root's right to pass these folders, and no other right.
 * @throws UserError when there is no way.
 */
export function findUnprivilegedUser(folder: string, binary: string, log: Log): UnprivilegedUser {
  if (process.getuid?.() !== 0) return nobodyElse;
  const account = findAccount();
  if (!account)
    throw new UserError(
      "Postgres refuses to run as root; set DATABASE_URL, or make a user to run it: useradd --system postgres",
    );
  const { uid, gid } = account;
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  // Postgres calls access(2) on its own files, which drops the right to pass unless the set-uid fixup is off.
  const keeping = [
    "--securebits=+no_setuid_fixup",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
  ];
  const passing = [...become, ...keeping];
  const command = [passing, become].find((tried) => reaches(tried, binary, folder));
  if (!command) {
    throw new UserError(
      `Postgres refuses to run as root, and the user ${account.name} cannot enter ${folder} ` +
        `or run ${dirname(binary)}; set DATABASE_URL, or let others pass: chmod o+x FOLDERS`,
    );
  }
  log.debug("the embedded Postgres runs as another user", { user: account.name });
  return {
    command,
    chown: (path) => {
      if (statSync(path).uid !== uid) changeOwner(path, uid, gid);
    },
  };
}

/** The existing user that runs Postgres when the server runs as root. */
export function findAccount(): { name: string; uid: number; gid: number } | undefined {
  const lines = existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8").split("\n") : [];
  const accounts = lines.map((line) => {
    const [name = "", , uid = "", gid = ""] = line.split(":");
    return { name, uid: Number(uid), gid: Number(gid) };
  });
  for (const accountName of ["postgres", "nobody"]) {
    const account = accounts.find(({ name, uid }) => name === accountName && uid > 0);
    if (account) return account;
  }
  return undefined;
}

/** Tried with a command: a container may lack the tool, or the right to grant rights. */
function reaches(become: string[], binary: string, folder: string): boolean {
  const script = '[ -x "$1" ] && "$1" --version >/dev/null && cd "$2"';
  const tried = [...become, "sh", "-c", script, "sh", binary, folder];
  try {
    const options = {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      cwd: "/",
      env: postgresEnv,
    } as const;
    return Bun.spawnSync(tried, options).exitCode === 0;
  } catch {
    return false;
  }
}

function changeOwner(path: string, uid: number, gid: number): void {
  chownSync(path, uid, gid);
  for (const entry of listFolder(path)) changeOwner(join(path, entry), uid, gid);
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
