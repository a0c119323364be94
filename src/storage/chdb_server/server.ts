// The embedded ClickHouse: the engine behind ClickHouse's HTTP interface, as a process of its own on the loopback
// device. Never outlives the process that started it, and never listens on any other device.
//
//   bun src/storage/chdb_server/server.ts --data-dir DIR [--port N] [--faults] [--nice STEPS]
//
// Its first line on standard input is the password; the end of standard input ends it. When it listens it prints
// {"port":N} on standard output. --password P instead of standard input makes it stand alone, as a remote store.

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getPriority, setPriority } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { chdbServerLimits } from "./limits.ts";
import { limits } from "../../core/limits.ts";
import { storageLimits } from "../limits.ts";
import { reasonOf } from "../../core/log.ts";
import { memoryHere } from "../../core/machine.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { EngineError, openEngine } from "./chdb.ts";
import { engineBounds, writeEngineConfig } from "../embedded/engine_config.ts";
import { cutOff, sendAnswer, sendError } from "./answer.ts";
import { ServerError, knows, readAsk, readBounded } from "./request.ts";
import { type ServerFault, Faults, readFault } from "./fault.ts";
import { Runner } from "./run.ts";

class Front {
  readonly #runner: Runner;
  readonly #password: string;
  readonly #faults: Faults | undefined;
  readonly #places = new Semaphore(
    storageLimits.frontStatementsMax,
    chdbServerLimits.frontWaitingMax,
    limits.workingShare,
  );
  readonly #server: Server;
  #closing = false;

  constructor(dataDir: string, password: string, faults: boolean) {
    this.#password = password;
    this.#faults = faults ? new Faults() : undefined;
    const config = `${dataDir}/clickhouse.xml`;
    writeEngineConfig(config, engineBounds(memoryHere()));
    this.#runner = new Runner(openEngine(`${dataDir}/clickhouse`, config), dataDir);
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // A statement may be silent for as long as its client cares to wait.
    this.#server.requestTimeout = 0;
    this.#server.timeout = 0;
  }

  async listen(port: number): Promise<number> {
    await this.#runner.start();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.once("error", reject);
    this.#server.listen(port, "127.0.0.1", () => resolve((this.#server.address() as AddressInfo).port));
    return await promise;
  }

  /** Ends with the engine closed, so that its folder can be opened again; what runs is finished first. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#server.close();
    await this.#runner.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const abort = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) abort.abort();
    });
    try {
      const url = new URL(request.url ?? "/", "http://127.0.0.1");
      if (url.pathname === "/ping") response.end("Ok.\n");
      else if (this.#faults && url.pathname === "/_fault") await this.#arm(this.#faults, request, response);
      else await this.#answer(request, response, url, abort.signal);
    } catch (thrown) {
      if (response.destroyed) return;
      sendError(response, thrown);
      if (thrown instanceof EngineError && thrown.fatal) endProcess(`the engine failed: ${reasonOf(thrown)}`);
    }
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    abort: AbortSignal,
  ): Promise<void> {
    if (!knows(request, url, this.#password)) {
      throw new ServerError(
        516,
        "AUTHENTICATION_FAILED",
        "default: Authentication failed: password is incorrect",
      );
    }
    if (this.#closing) throw new ServerError(236, "ABORTED", "Server is shutting down");
    const ask = await readAsk(request, url);
    const fault = this.#faults?.strike(ask.text);
    if (fault && !(await strikeBefore(fault, response))) return;
    const leave = await this.#places.enter(abort, kindOf(ask.text));
    if (!leave) throw new ServerError(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries");
    try {
      const answer = await this.#runner.run(ask, abort);
      if (fault && !strikeAfter(fault, response)) return;
      await sendAnswer(response, ask, answer);
    } finally {
      leave();
    }
  }

  async #arm(faults: Faults, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      response.end(JSON.stringify({ struck: faults.struck }));
      return;
    }
    if (request.method === "DELETE") faults.clear();
    else {
      const fault = readFault((await readBounded(request)).toString());
      if (fault) faults.arm(fault);
      else response.statusCode = 400;
    }
    response.end();
  }
}

/** What shares the places: inserts of events never wait for all reads and exports. */
function kindOf(text: string): string {
  if (text.startsWith("INSERT INTO FUNCTION")) return "export";
  return text.startsWith("INSERT") ? "insert" : "read";
}

/** False when the statement must not be run any more. */
async function strikeBefore(fault: ServerFault, response: ServerResponse): Promise<boolean> {
  const { kind, ms, code, type } = fault;
  if (kind === "fail_before") throw new ServerError(code, type, "a fault was asked for");
  if (kind === "exit_before") process.kill(process.pid, "SIGKILL");
  if (kind === "drop_before") cutOff(response);
  if (kind === "delay") await Bun.sleep(ms);
  return kind !== "hang" && kind !== "drop_before";
}

/** False when the answer must not be sent any more. */
function strikeAfter({ kind, code, type }: ServerFault, response: ServerResponse): boolean {
  if (kind === "fail_after") throw new ServerError(code, type, "a fault was asked for");
  if (kind === "exit_after") process.kill(process.pid, "SIGKILL");
  if (kind !== "drop_reply") return true;
  cutOff(response);
  return false;
}

/**
 * Lowers this process's priority by so many steps, where the system lets it. On Linux each thread has its own, which
 * those it begins take over: all that are there already step back. And where the system weighs sessions against each
 * other before it looks at their threads (autogroups), the session steps back: it is ours alone, or it is left alone.
 */
function stepBack(steps: number): void {
  if (steps <= 0) return;
  try {
    const priority = Math.min(19, getPriority() + steps);
    const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task").map(Number) : [0];
    for (const thread of threads) setPriority(thread, priority);
    const [, , , session] = statOf(readFileSync("/proc/self/stat", "utf8"));
    if (Number(session) === process.pid) writeFileSync("/proc/self/autogroup", String(Math.min(19, steps)));
  } catch {
    // It works all the same.
  }
}

/** What Linux says of a process behind its name, which may hold anything: state, parent, group, session, … */
function statOf(text: string): string[] {
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function endProcess(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      "data-dir": { type: "string" },
      port: { type: "string", default: "0" },
      password: { type: "string" },
      faults: { type: "boolean", default: false },
      nice: { type: "string", default: "0" },
    },
  });
  const dataDir = values["data-dir"] ?? endProcess("--data-dir is missing");
  const alone = values.password !== undefined;
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const password = values.password ?? String((await lines.next()).value);
  // Before the engine's threads begin.
  stepBack(Number(values.nice));
  const front = new Front(dataDir, password, values.faults);

  const end = async (): Promise<void> => {
    setTimeout(() => endProcess("statements still ran when it had to end"), chdbServerLimits.frontEndMsMax);
    await front.close();
    process.exit(0);
  };
  process.on("SIGTERM", () => void end());
  // A terminal's Ctrl-C reaches every process: ours ends when its owner has written what it holds.
  process.on("SIGINT", () => void (alone && end()));
  const port = await front.listen(Number(values.port));
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  if (alone) return;
  await lines.next();
  await end();
}

await main().catch((thrown) => endProcess(reasonOf(thrown)));
