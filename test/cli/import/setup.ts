// What tests of `sluice import` share: a folder, a capture server, and a run of the command with what it printed.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runImportCommand } from "../../../src/cli/import.ts";
import type { ImportParts } from "../../../src/cli/import/options.ts";
import { readConfig } from "../../../src/config.ts";
import { UserError } from "../../../src/core/fault.ts";
import { CaptureServer } from "./server.ts";

export const fixtures = join(import.meta.dir, "../../fixtures");
export const apiKey = "phc_0123456789";

export interface Ran {
  code: number;
  printed: string[];
  errors: string[];
}

export class ImportSetup {
  readonly folder: string;
  readonly server: CaptureServer;

  private constructor(folder: string, server: CaptureServer) {
    this.folder = folder;
    this.server = server;
  }

  static async open(): Promise<ImportSetup> {
    return new ImportSetup(await mkdtemp(join(tmpdir(), "sluice-import-")), await CaptureServer.open());
  }

  async close(): Promise<void> {
    await this.server.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async write(name: string, content: string | Uint8Array): Promise<string> {
    await Bun.write(this.path(name), content);
    return this.path(name);
  }

  /** Runs the command as main would: a UserError is a line and its exit code. */
  async run(args: string[], parts: Partial<ImportParts> = {}): Promise<Ran> {
    const ran: Ran = { code: 0, printed: [], errors: [] };
    const context = {
      config: readConfig({ BOOTSTRAP_PROJECT_API_KEY: apiKey }),
      print: (line: string) => void ran.printed.push(line),
      printError: (line: string) => void ran.errors.push(line),
      terminal: false,
    };
    const words = args.includes("--host") ? args : [...args, "--host", this.server.host];
    try {
      ran.code = await runImportCommand(words, context, { pause: async () => {}, random: () => 0, ...parts });
    } catch (thrown) {
      if (!(thrown instanceof UserError)) throw thrown;
      ran.code = thrown.exitCode;
      ran.errors.push(thrown.message);
    }
    return ran;
  }
}

/** The counts of the last line of a run with --json. */
export function countsOf(ran: Ran): unknown {
  return JSON.parse(ran.printed.at(-1) ?? "null");
}

/** `count` lines in the shape of batch items without a uuid. */
export function eventLines(count: number): string {
  let text = "";
  for (let n = 0; n < count; n++) {
    const ids = `"event":"e${n}","distinct_id":"d"`;
    text += `{${ids},"timestamp":"2020-01-01T00:00:00Z","properties":{"n":${n}.0}}\n`;
  }
  return text;
}
