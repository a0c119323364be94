// A Python with one package from PyPI, in a folder of a test's own. Never touches the machine's own packages.

import { join } from "node:path";
import { makeFolder } from "./folder.ts";

/** How long a registry may take before the test is skipped. */
const installMsMax = 240_000;

export interface Ran {
  code: number;
  /** Both of what it printed. */
  printed: string;
}

export interface Python {
  /** Runs a program that the package brought, or `python` itself. */
  run(
    program: string,
    args: string[],
    options?: { cwd?: string; env?: Record<string, string>; msMax?: number },
  ): Promise<Ran>;
}

/** Undefined, after a word why, where there is no Python, no pip or no registry. */
export async function pythonWith(requirement: string): Promise<Python | undefined> {
  const folder = join(makeFolder(), "venv");
  const bin = join(folder, "bin");
  const python: Python = {
    run: (program, args, { cwd, env, ...more } = {}) =>
      run([join(bin, program), ...args], {
        cwd,
        env: { PATH: `${bin}:${process.env["PATH"]}`, ...env },
        ...more,
      }),
  };
  if (Bun.which("python3") === null) return missing("no python3");
  const made = await run(["python3", "-m", "venv", folder]);
  if (made.code !== 0) return missing("python3 makes no environment");
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"];
  const installed = await python.run("python", [...pip, "--timeout", "15", requirement]);
  if (installed.code !== 0) return missing(`${requirement} cannot be installed`);
  return python;
}

function missing(why: string): undefined {
  process.stderr.write(`tests with Python are skipped: ${why}\n`);
}

/** Ended when it takes longer than `msMax`, by default as long as a registry may. */
export async function run(
  command: string[],
  {
    cwd,
    env = {},
    msMax = installMsMax,
  }: { cwd?: string | undefined; env?: Record<string, string>; msMax?: number } = {},
): Promise<Ran> {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: msMax,
    ...(cwd !== undefined && { cwd }),
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, printed: `${out}${err}` };
}
