// The owner's side of a parser child: it is started, gets one text at a time, and is killed when a text uses too much.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { withinMs } from "../../../core/clock.ts";
import { parserLimits } from "./limits.ts";
import type { ParserReply, ParserRequest, TextKind } from "./parser_child.ts";

/** The tree as JSON, or the reason for its absence. */
export type Parsed = { json: string } | { failed: "time" | "depth" };

export class ParserProcess {
  readonly #child: Bun.Subprocess;
  readonly #ready = Promise.withResolvers<void>();
  #waiting: { id: number; done: PromiseWithResolvers<Parsed> } | undefined;
  #lastId = 0;
  #isUsable = true;

  private constructor() {
    this.#child = Bun.spawn(command, {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
      // The root folder has no configuration of ours, which the runtime would read.
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore"],
      serialization: "advanced",
      ipc: (message: ParserReply) => this.#receive(message),
    });
    this.#child.unref();
    void this.#child.exited.then((code) => this.#end(`the parser's process ended with ${code}`));
  }

  /** Resolves when it is ready. @throws when it does not start. */
  static async start(): Promise<ParserProcess> {
    const started = new ParserProcess();
    try {
      await withinMs(started.#ready.promise, parserLimits.childStartMsMax);
      return started;
    } catch (thrown) {
      started.kill();
      throw thrown;
    }
  }

  /** Whether it may get another text. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Reads one text, after the one before has ended. @throws when the process dies by itself. */
  async parse(kind: TextKind, text: string): Promise<Parsed> {
    if (!this.#isUsable) throw new Error("the parser's process has ended");
    const id = ++this.#lastId;
    const done = Promise.withResolvers<Parsed>();
    this.#waiting = { id, done };
    const endWatch = this.#watch(done);
    try {
      this.#child.send({ id, kind, text } satisfies ParserRequest);
      const parsed = await done.promise;
      const { bytes } = readUsage(this.#child.pid) ?? { bytes: 0 };
      if ("failed" in parsed || bytes > parserLimits.childBytesKept) this.kill();
      return parsed;
    } finally {
      this.#waiting = undefined;
      endWatch();
    }
  }

  kill(): void {
    this.#isUsable = false;
    this.#child.kill("SIGKILL");
  }

  #receive({ id, json }: ParserReply): void {
    if (id === 0) this.#ready.resolve();
    if (id !== this.#waiting?.id) return;
    this.#waiting.done.resolve(json === undefined ? { failed: "depth" } : { json });
  }

  #end(reason: string): void {
    this.#isUsable = false;
    this.#ready.reject(new Error(reason));
    this.#waiting?.done.reject(new Error(reason));
  }

  /** Ends a text that exceeds its bounds; returns what ends the watch. */
  #watch(done: PromiseWithResolvers<Parsed>): () => void {
    const before = readUsage(this.#child.pid);
    const began = performance.now();
    const poll = (): void => {
      const passed = performance.now() - began;
      const now = readUsage(this.#child.pid);
      // If processor time cannot be read, the clock replaces it.
      const cpuMs = now && before ? now.cpuMs - before.cpuMs : passed;
      const slowness = cpuMs < passed / 2 ? parserLimits.busySlowness : 1;
      const isLong = cpuMs > parserLimits.textCpuMsMax * slowness;
      const isHeavy = isLong || (now?.bytes ?? 0) > parserLimits.childBytesMax;
      if (!isHeavy && passed <= parserLimits.textMsMax) return;
      if (isHeavy) done.resolve({ failed: "time" });
      else done.reject(new Error("the parser got no processor time"));
      this.kill();
    };
    const timer = setInterval(poll, parserLimits.watchMs);
    return () => clearInterval(timer);
  }
}

const entry = fileURLToPath(new URL("./parser_child.ts", import.meta.url));
const boundedScript = `ulimit -t ${parserLimits.childCpuSecondsMax}; exec "$@"`;
const command = [
  "/bin/sh",
  "-c",
  boundedScript,
  "sh",
  process.execPath,
  "--smol",
  "--no-install",
  "--no-env-file",
  entry,
];

/** A tick of processor time in /proc, in ms: Linux has 100 a second on all its platforms. */
const tickMs = 10;
const pageBytes = 4096;

/** The processor time and memory of a process; undefined where the system does not show them. */
function readUsage(pid: number): { cpuMs: number; bytes: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name, in brackets; 14, 15 and 24 are time in user and system, and pages.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [user = 0, system = 0, pages = 0] = [fields[11], fields[12], fields[21]].map(Number);
    return { cpuMs: (user + system) * tickMs, bytes: pages * pageBytes };
  } catch {
    return undefined;
  }
}
