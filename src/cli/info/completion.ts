// `sluice completion`: the shells' completion of commands, verbs and options, read from the texts that --help prints.

import { UserError } from "../../core/fault.ts";
import { checkPositionals, readArguments } from "../args.ts";
import type { Command } from "../command.ts";

const help = `usage: bun run sluice completion bash|zsh|fish

Prints a script that completes commands, verbs and options of the command sluice in that shell.

  source <(sluice completion bash)`;

/** @param commands all others. */
export function completionCommand(commands: readonly Command[]): Command {
  const own: Command = {
    name: "completion",
    summary: "print the completion for a shell",
    help,
    run: async (args, { print }) => {
      const words = readArguments(args, []);
      checkPositionals(words, 1);
      const [shell = ""] = words.positionals;
      const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
      if (!write) throw new UserError("expected bash, zsh or fish", 2);
      print(write([...commands, own]));
      return 0;
    },
  };
  return own;
}

/** Words that may follow a command: the verbs of its usage, and the options of its help. */
export function listWords({ name, help: text }: Command): string[] {
  const usages = text.split(`bun run sluice ${name} `).slice(1);
  const verbs = usages.flatMap((usage) => /^[a-z|]+(?=\s|$)/.exec(usage)?.[0].split("|") ?? []);
  const options = [...text.matchAll(/(?<=^ {2,4}|[ [])--[a-z][a-z-]+/gm)];
  return [...new Set([...verbs, ...options.map(([option]) => option)])];
}

const shells: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash: (commands) => `_sluice() {
  local words
  if [ "$COMP_CWORD" = 1 ]; then words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else case "\${COMP_WORDS[1]}" in
${commands.map((command) => `    ${command.name}) words="${listWords(command).join(" ")} --help" ;;`).join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sluice sluice`,
  zsh: (commands) => `#compdef sluice
_sluice() {
  if (( CURRENT == 2 )); then
    local -a commands=(${commands.map(({ name, summary }) => `\n      ${quote(`${name}:${summary}`)}`).join("")})
    _describe command commands
  else case "\${words[2]}" in
${commands.map((command) => `    ${command.name}) compadd -- ${listWords(command).join(" ")} --help ;;`).join("\n")}
  esac; _files; fi
}
compdef _sluice sluice`,
  fish: (commands) =>
    commands
      .flatMap((command) => [
        `complete -c sluice -n __fish_use_subcommand -f -a ${command.name} -d ${quote(command.summary)}`,
        ...[...listWords(command), "--help"].map((word) => {
          const offer = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${word}`;
          return `complete -c sluice -n '__fish_seen_subcommand_from ${command.name}' ${offer}`;
        }),
      ])
      .join("\n"),
};

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
