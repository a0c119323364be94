// The snippets of the README, and a machine to follow them on: its shell, its folder, and stand-ins for what a test must
// not do. Never decides what a snippet has to bring about.

import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";
import { personalKey, projectKey, type Ran } from "./server.ts";

export const root = resolve(import.meta.dir, "../..");
/** The README, and the page of clients of the API. */
export const readme = ["README.md", "src/docs/api.md"]
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");

export interface Snippet {
  /** What follows the fence; empty for drawings. */
  language: string;
  text: string;
  /** Its first line, without blanks at its ends: what tests know it by. */
  name: string;
}

/** All fenced blocks of a page. */
export function snippetsOf(page: string): Snippet[] {
  const snippets: Snippet[] = [];
  let open: { language: string; lines: string[] } | undefined;
  for (const line of page.split("\n")) {
    if (!line.trimStart().startsWith("```")) open?.lines.push(line);
    else if (!open) open = { language: line.trim().slice(3), lines: [] };
    else {
      const { language, lines } = open;
      snippets.push({ language, text: lines.join("\n"), name: lines[0]?.trim() ?? "" });
      open = undefined;
    }
  }
  if (open) throw new Error("a fence is not closed");
  return snippets;
}

/** What a reader has where the README has an example. */
export interface Reader {
  url: string;
  /** A file to import. */
  events: string;
}

/** The one place where a snippet is changed before it runs. */
export function asReadBy({ url, events }: Reader, text: string): string {
  const stored = `curl -s '${url}/api/projects/1/events/' -H "Authorization: Bearer $PERSONAL_API_KEY" | grep -q '"results":\\[{'`;
  return (
    text
      .replaceAll("http://127.0.0.1:8000", url)
      .replaceAll("phc_…", projectKey)
      .replaceAll("phx_…", personalKey)
      .replaceAll("events.jsonl.gz", events)
      // Two seconds are enough on a machine that does nothing else.
      .replace(/^sleep 2 .*$/m, `until ${stored}; do sleep 0.1; done`)
  );
}

/** A shell command for what a test must not do, or nothing here can: by its name. */
const standIns: Record<string, string> = {
  // Others are using node_modules; the suite runs already.
  bun: `
    case "$*" in
      install) exec "$BUN" install --frozen-lockfile --dry-run ;;
      "run test" | "run check") exec "$BUN" -e 'if (!require("./package.json").scripts[process.argv[1]]) process.exit(1)' "$2" ;;
      *) exec "$BUN" "$@" ;;
    esac`,
  npx: `
    [ "$1" = -y ] && shift
    case "$1" in
      bun@*) [ "$1" = "bun@$("$BUN" --version)" ] && shift && exec bun "$@" ;;
      *) command="$1" && shift && exec "$ROOT/node_modules/.bin/$command" "$@" ;;
    esac`,
  // As npm does: the scripts' commands are looked for in node_modules, too.
  npm: `
    [ "$1" = start ] && PATH="$ROOT/node_modules/.bin:$PATH" exec sh -c "$("$BUN" -p 'require("./package.json").scripts.start')"
    [ "$1" = install ] && shift && for name in "$@"; do [ -d "$ROOT/node_modules/$name" ] || exit 1; done`,
  // The client itself is made and used by test/http/docs/clients.test.ts.
  pip: `
    [ "$*" = "install openapi-python-client" ]`,
  "openapi-python-client": `
    [ "$1 $2" = "generate --path" ] && grep -q '"openapi":"3' "$3"`,
  docker: `
    echo "$*" >> "$DOCKER_LOG"
    case "$1" in
      build) for folder in "$@"; do :; done; [ -f "$folder/Dockerfile" ] ;;
      run) ;;
      exec) shift 2 && exec "$@" ;;
      *) exit 1 ;;
    esac`,
};

export interface Machine {
  /** Holds src and node_modules as a checkout does, and whatever snippets leave behind. */
  folder: string;
  /** The commands that docker got, line by line. */
  dockerLog: string;
  /** Runs shell text to its end, or until it prints \`enough\`: then it gets a SIGTERM, with all it started. */
  run(text: string, environment: Record<string, string>, enough?: RegExp): Promise<Ran>;
}

/** A shell that stops at the first failure overlooks all of a chain but its last part. */
function oneByOne(text: string): string {
  return text.replaceAll(" && ", "\n");
}

/** `more`: stand-ins of a page's own, which go before the machine's commands. */
export function openMachine(more: Readonly<Record<string, string>> = {}): Machine {
  const folder = makeFolder();
  const commands = join(folder, "commands");
  const dockerLog = join(folder, "docker.log");
  mkdirSync(commands);
  writeFileSync(dockerLog, "");
  for (const [name, text] of Object.entries({ ...standIns, ...more })) {
    writeFileSync(join(commands, name), `#!/usr/bin/env bash${text}\n`);
    chmodSync(join(commands, name), 0o755);
  }
  for (const name of ["src", "sql", "node_modules"]) symlinkSync(join(root, name), join(folder, name));
  for (const name of ["package.json", "bun.lock", "bunfig.toml", "Dockerfile", ".patches"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  const own = {
    PATH: `${commands}:${process.env["PATH"]}`,
    HOME: folder,
    ROOT: root,
    BUN: process.execPath,
    DOCKER_LOG: dockerLog,
    LOG_FORMAT: "json",
    WORKERS: "1",
    BOOTSTRAP_PROJECT_API_KEY: projectKey,
    BOOTSTRAP_PERSONAL_API_KEY: personalKey,
  };
  return {
    folder,
    dockerLog,
    run: async (text, environment, enough) => {
      const child = Bun.spawn(["bash", "-euo", "pipefail", "-c", oneByOne(text)], {
        cwd: folder,
        env: { ...own, ...environment },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
        detached: true,
      });
      const end = (): void => {
        try {
          process.kill(-child.pid, "SIGTERM");
        } catch {
          // All of them ended by themselves.
        }
      };
      later(end);
      const stderr = new Response(child.stderr).text();
      const decoder = new TextDecoder();
      let stdout = "";
      for await (const chunk of child.stdout) {
        stdout += decoder.decode(chunk, { stream: true });
        if (enough?.test(stdout)) end();
      }
      return { exitCode: await child.exited, stdout, stderr: await stderr };
    },
  };
}
