// The embedded ClickHouse: the engine behind ClickHouse's HTTP interface, in a process of its own that listens on
// 127.0.0.1 only and ends with the process that started it.
//
//   bun src/storage/chdb_server/server.ts --data-dir DIR [--port N]
//
// The first line on standard input is the password; the end of standard input ends the server. When it listens it
// prints {"port":N}. With --password P it does not read standard input and runs alone, as a remote store.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { systemClock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { toReason } from "../../core/log.ts";
import { memoryHere } from "../../core/machine.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { engineBounds, writeEngineConfig } from "../embedded/engine_config.ts";
import { storageLimits } from "../limits.ts";
import { sendAnswer, sendError } from "./answer.ts";
import { EngineError, openEngine } from "./chdb.ts";
import { chdbServerLimits } from "./limits.ts";
import { EnginePriority, setSessionNice } from "./priority.ts";
import { knows, readRequest, ServerError } from "./request.ts";
import { Runner } from "./run.ts";
import { listenHere } from "./stream.ts";

/**
 * Called before each statement runs. Resolves to a function that is called after it, which decides whether the answer
 * is sent, or to undefined when the statement must not run. Tests inject failures here.
 */
type Intercept = (text: string, response: ServerResponse) => Promise<(() => boolean) | undefined>;

const noIntercept: Intercept = () => Promise.resolve(() => true);

class ChdbServer {
  readonly #runner: Runner;
  readonly #password: string;
  readonly #intercept: Intercept;
  readonly #permits = new Semaphore(
    storageLimits.engineStatementsMax,
    chdbServerLimits.waitingMax,
    limits.workingFreeMultiple,
  );
  readonly #priority = new EnginePriority({ set: setSessionNice, clock: systemClock });
  readonly #server: Server;
  #closing = false;

  constructor(dataDir: string, password: string, intercept: Intercept) {
    this.#password = password;
    this.#intercept = intercept;
    const config = `${dataDir}/clickhouse.xml`;
    writeEngineConfig(config, engineBounds(memoryHere()));
    this.#runner = new Runner(openEngine(`${dataDir}/clickhouse`, config), dataDir);
    this.#server = createServer((request, response) => void this.#serve(request, response));
    // A statement may run without output for as long as its client waits.
    this.#server.requestTimeout = 0;
    this.#server.timeout = 0;
  }

  async listen(port: number): Promise<number> {
    await this.#runner.start();
    return await listenHere(this.#server, port);
  }

  /** Waits for running statements, then closes the engine, so that its folder can be opened again. */
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
      else await this.#answer(request, response, url, abort.signal);
    } catch (thrown) {
      if (response.destroyed) return;
      sendError(response, thrown);
      if (thrown instanceof EngineError && thrown.fatal) endProcess(`the engine failed: ${toReason(thrown)}`);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, url: URL, abort: AbortSignal) {
    if (!knows(request, url, this.#password)) {
      const reason = "default: Authentication failed: password is incorrect";
      throw new ServerError(516, "AUTHENTICATION_FAILED", reason);
    }
    if (this.#closing) throw new ServerError(236, "ABORTED", "Server is shutting down");
    const statement = await readRequest(request, url);
    const after = await this.#intercept(statement.text, response);
    if (!after) return;
    const release = await this.#permits.enter(findKind(statement.text), abort);
    if (!release)
      throw new ServerError(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries");
    try {
      const run = () => this.#runner.run(statement, abort);
      const answer = await this.#prioritized(statement.text, run);
      if (after()) await sendAnswer(response, statement, answer);
    } finally {
      release();
    }
  }

  #prioritized<T>(text: string, run: () => Promise<T>): Promise<T> {
    // These are rows from a journal, not what is derived from them later; a migration's INSERTs have other formats, or
    // none.
    const isFlush = text.startsWith("INSERT") && text.endsWith("FORMAT Native");
    if (isFlush) return this.#priority.during(run);
    return findKind(text) === "read" ? this.#priority.beside(run) : run();
  }
}

/** The owner of a statement in the semaphore: inserts of events do not wait for all reads and exports. */
function findKind(text: string): string {
  if (text.startsWith("INSERT INTO FUNCTION")) return "export";
  // Statements that watch and end the others do not wait for them.
  if (/^(KILL |SELECT Settings\[|SELECT count\(\) FROM system\.processes)/.test(text)) return "watch";
  return text.startsWith("INSERT") ? "insert" : "read";
}

function endProcess(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/** Runs the server by the arguments of the command line, until it is stopped. */
export async function runServer(intercept: Intercept = noIntercept): Promise<void> {
  const { values } = parseArgs({
    options: {
      "data-dir": { type: "string" },
      port: { type: "string", default: "0" },
      password: { type: "string" },
    },
  });
  const dataDir = values["data-dir"] ?? endProcess("--data-dir is missing");
  const alone = values.password !== undefined;
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const password = values.password ?? String((await lines.next()).value);
  const server = new ChdbServer(dataDir, password, intercept);

  const end = async (): Promise<void> => {
    setTimeout(() => endProcess("statements still ran when it had to end"), chdbServerLimits.endMsMax);
    await server.close();
    process.exit(0);
  };
  process.on("SIGTERM", () => void end());
  // A terminal sends Ctrl-C to every process: this one ends after its owner has written everything.
  process.on("SIGINT", () => void (alone && end()));
  const port = await server.listen(Number(values.port));
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  if (alone) return;
  await lines.next();
  await end();
}

if (import.meta.main) await runServer().catch((thrown) => endProcess(toReason(thrown)));
