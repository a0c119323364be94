// The shells' completion, asked as the shells ask it, and the list of servers.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { backupCommand } from "../../src/cli/backup.ts";
import { importCommand } from "../../src/cli/import.ts";
import { completionCommand, listWords } from "../../src/cli/info/completion.ts";
import { keyCommand } from "../../src/cli/key.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { runSluice, startServer } from "../support/server.ts";

cleanUpEach();

async function scriptFor(shell: string): Promise<string> {
  const { stdout, exitCode } = await runSluice(["completion", shell], {});
  expect(exitCode).toBe(0);
  return stdout;
}

test("a command's words are the verbs and the options of its help", () => {
  expect(listWords(keyCommand)).toEqual(
    expect.arrayContaining(["issue", "list", "revoke", "--label", "--scopes", "--email", "--json"]),
  );
  expect(listWords(importCommand)).toEqual(expect.arrayContaining(["--api-key", "--dry-run", "--no-wait"]));
  expect(listWords(importCommand)).not.toContain("events");
  expect(listWords(backupCommand)).toEqual(["verify", "--keep", "--incremental", "--open"]);
  expect(listWords(completionCommand([]))).toEqual(["bash", "zsh", "fish"]);
});

test("every option that is offered is one that its command has, and every command is offered", async () => {
  const fish = await scriptFor("fish");
  const { stdout: help } = await runSluice(["--help"], {});
  const commands = [...help.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!);
  expect(commands.length).toBeGreaterThan(13);
  const dataDir = join(makeFolder(), "none");
  for (const name of commands) expect(fish).toContain(`-a ${name} -d`);
  const offered = [...fish.matchAll(/seen_subcommand_from (\w+)' -l ([\w-]+)/g)];
  for (const [, name = "", option] of offered) {
    if (option === "help" || name === "serve") continue;
    // A value keeps the command from doing anything: flags take none, and what no command knows is named.
    const { exitCode, stderr } = await runSluice([name, `--${option}=`, "a", "b", "c", "d"], {
      DATA_DIR: dataDir,
    });
    expect([name, option, exitCode, stderr]).not.toEqual([name, option, 0, ""]);
    expect(stderr).not.toContain("Unknown option");
  }
});

test("bash completes commands, verbs and options", async () => {
  const path = join(makeFolder(), "completion.sh");
  writeFileSync(path, await scriptFor("bash"));
  const ask = (...words: string[]) => {
    const script = `. ${path}; COMP_WORDS=(sluice ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _sluice; echo "\${COMPREPLY[@]}"`;
    return Bun.spawnSync(["bash", "-c", script]).stdout.toString().trim();
  };
  expect(ask("ba")).toBe("backup");
  expect(ask("key", "re")).toBe("revoke");
  expect(ask("import", "--api")).toBe("--api-key");
  expect(ask("user", "")).toMatch(/^list password .*--keep-keys/);
});

test.skipIf(Bun.which("zsh") === null)("zsh reads its script", async () => {
  const path = join(makeFolder(), "_sluice");
  writeFileSync(path, await scriptFor("zsh"));
  expect(Bun.spawnSync(["zsh", "-n", path])).toMatchObject({ exitCode: 0 });
});

test("another shell is wrong use", async () => {
  expect(await runSluice(["completion", "toString"], {})).toMatchObject({ exitCode: 2, stdout: "" });
});

test("the servers of the stores are listed, also while they run", async () => {
  const server = await startServer();
  const environment = { DATA_DIR: server.dataDir };
  const { stdout } = await runSluice(["server", "list", "--json"], environment);
  const rows = JSON.parse(stdout) as { id: number; location: string }[];
  expect(rows).toMatchObject([{ id: 1, location: expect.stringContaining(server.dataDir) }]);
  expect((await runSluice(["server", "list"], environment)).stdout).toMatch(/^1\t\d{4}-\S+Z\t/);
  expect(await runSluice(["server"], environment)).toMatchObject({ exitCode: 2 });
});
