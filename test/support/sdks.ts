// SDKs of PostHog and programs for its API as their registries have them, put beside the programs that use them. All of
// it is below the folder for temporary files, made once for each state of a program and its manifest.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, join, resolve } from "node:path";

const programs = resolve(import.meta.dir, "../clients");
const cache = join(tmpdir(), `sluice-sdks-${userInfo().uid}`);

export interface Kit {
  /** A program's files, as they lie in test/clients. */
  files: readonly string[];
  /** Programs that must be there. */
  tools: readonly string[];
  /** Fetches what the manifest names: where it fails, there is no registry. */
  install: readonly string[];
  /** What is done with it afterwards; a failure is one of the test. */
  build?: readonly (readonly string[])[];
}

export interface Readied {
  folder: string;
  /** Why there is nothing to test with; empty when there is. */
  missing: string;
  /** Why the program cannot be built, which is a fault of ours; empty when it was. */
  problem: string;
}

const words = (command: string) => command.split(" ");

/** Installs packages of PyPI into the folder `packages`; a program has it as PYTHONPATH. */
export const pipInstall = words(
  "python3 -m pip install --target packages --requirement requirements.txt " +
    "--quiet --no-warn-conflicts --root-user-action=ignore --retries=1",
);

/** Installs what package.json names. One more try, at once: where there is no registry, nobody waits for it. */
export const npmInstall = words(
  "npm install --silent --no-fund --no-audit --no-package-lock --ignore-scripts " +
    "--fetch-retries=1 --fetch-retry-mintimeout=1000",
);

/** Installs and builds what is not there yet. */
export async function readyKit({ files, tools, install, build = [] }: Kit): Promise<Readied> {
  const hash = createHash("sha256").update(JSON.stringify([install, build]));
  for (const file of files) hash.update(readFileSync(join(programs, file)));
  const folder = join(cache, hash.digest("hex").slice(0, 16));
  const lacking = tools.find((tool) => !Bun.which(tool));
  if (lacking !== undefined) return { folder, missing: `no ${lacking} on this machine`, problem: "" };
  const readied = { folder, missing: "", problem: "" };
  if (existsSync(folder)) return readied;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const making = mkdtempSync(join(cache, "making-"));
  try {
    for (const file of files) cpSync(join(programs, file), join(making, basename(file)), { recursive: true });
    const installed = await run(install, making);
    if (installed.exitCode !== 0) {
      console.log(installed.output);
      return { ...readied, missing: `${install[0]} cannot install it` };
    }
    for (const command of build) {
      const built = await run(command, making);
      if (built.exitCode !== 0) return { ...readied, problem: `${command.join(" ")}: ${built.output}` };
    }
    // Somebody else may have been quicker.
    if (!existsSync(folder)) renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return readied;
}

export interface Ran {
  exitCode: number;
  output: string;
}

/** Runs a command to its end. Its input ends when `isTold` says so. */
export async function run(
  command: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
  isTold: () => Promise<void> = async () => {},
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...environment },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
    Promise.race([isTold(), child.exited]).then(() => child.stdin.end()),
  ]);
  return { exitCode, output: `${stdout}${stderr}` };
}
