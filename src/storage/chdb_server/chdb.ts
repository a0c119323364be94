// The embedded ClickHouse engine: runs statements off the event loop. The only file that imports chdb.

import { createRequire as requireFrom } from "node:module";
import { type ChdbQueryStream, drainPending, Session } from "chdb";
import { sleep } from "../../core/clock.ts";
import { toReason } from "../../core/log.ts";
import { quoteName, quoteText } from "../clickhouse/statement.ts";

export interface EngineStatement {
  /** Its `log_comment`, unique, by which the running statement is found. */
  tag: string;
  text: string;
  /** The format of the answer, unless the statement names one. */
  format: string;
  database: string;
  settings: Map<string, string>;
  /** Values of `{name:Type}`, escaped as in ClickHouse's URLs. */
  params: Map<string, string>;
  /** Stops the statement in the engine; used once per statement. */
  abort: AbortSignal;
}

export type Engine = ReturnType<typeof openEngine>;

export class EngineError extends Error {
  readonly code: number;
  /** The engine cannot be used again; only a new process can open the folder. */
  readonly fatal: boolean;

  constructor(message: string, code: number) {
    super(message);
    this.name = "EngineError";
    this.code = code;
    this.fatal = code === abortedCode && message.includes("shutting down");
  }
}

const abortedCode = 236;
const unknownCode = 1002;

/** No row as long as there are none. */
const failedWritesQuery =
  "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'";

/** Well below the engine's default, in characters of up to four bytes each. */
const plainPreambleLengthMax = 50_000;

/** How often a statement whose client has left is killed: the first time it may not have started yet. */
const cancelAgainMs = 200;

/**
 * Opens the engine with a configuration file, on a folder that only one process at a time may open.
 * Each statement gets a session of its own (0.4 ms), so that settings, parameters and temporary tables end with it and
 * sessions run in parallel. The first session keeps the engine open and reads the count of its failed writes.
 * @throws EngineError when the folder is in use or cannot be read.
 */
export function openEngine(path: string, configPath: string) {
  const anchor = openSession(path, [`--config-file=${configPath}`]);

  /** Closes the session in every case. */
  async function prepare(statement: EngineStatement): Promise<{ session: Session } & Disposable> {
    const session = openSession(path);
    const stopCancelling = cancelWhenAborted(path, statement.abort, statement.tag);
    const finish = (): void => {
      stopCancelling();
      closeSession(session);
    };
    try {
      const preamble = writePreamble(statement);
      // By default the engine parses 256 KiB of a statement; parameters may be longer.
      if (preamble.length > plainPreambleLengthMax)
        await session.queryAsync("SET max_query_size = 268435456");
      await session.queryAsync(preamble);
      statement.abort.throwIfAborted();
      return { session, [Symbol.dispose]: finish };
    } catch (thrown) {
      finish();
      throw engineError(thrown);
    }
  }

  return {
    run: async (statement: EngineStatement) => {
      using prepared = await prepare(statement);
      try {
        const { text, format } = statement;
        return (await prepared.session.queryAsync(text, { format })).bytes();
      } catch (thrown) {
        throw engineError(thrown);
      }
    },
    /**
     * Runs a SELECT and yields its answer in chunks. Only for a SELECT whose planning runs no other query: planning
     * blocks the event loop.
     */
    stream: async function* (statement: EngineStatement): AsyncGenerator<Uint8Array, void> {
      using prepared = await prepare(statement);
      let chunks: ChdbQueryStream | undefined;
      try {
        chunks = prepared.session.queryStream(statement.text, { format: statement.format });
        for await (const chunk of chunks) yield chunk.raw();
      } catch (thrown) {
        throw engineError(thrown);
      } finally {
        chunks?.cancel();
      }
    },
    /** How many writes to files have failed since the engine was opened; most of them are reported nowhere else. */
    failedWrites: async () => {
      const rows = await anchor.queryAsync(failedWritesQuery, { format: "TabSeparated" }).catch((thrown) => {
        throw engineError(thrown);
      });
      return Number(Buffer.from(rows.bytes()).toString());
    },
    /** Resolves when all running statements have ended and the engine has released its folder. */
    close: async () => {
      await drainPending();
      anchor.close();
      await drainPending();
    },
  };
}

/** `args`: arguments of the engine, which its first session passes. */
function openSession(path: string, args: string[] = []): Session {
  try {
    return args.length > 0 ? new Session(path, { connectionArgs: args }) : new Session(path);
  } catch (thrown) {
    throw engineError(thrown);
  }
}

/**
 * Closes a session whose statements have ended. Session.close() by itself waits until no other session has one: the
 * engine lists a failed statement until then, so that one that was killed seems to run on, and sessions pile up.
 */
function closeSession(session: Session): void {
  const { connection } = session;
  session.connection = null;
  if (connection) native.CloseConnection(connection);
  session.close();
}

const native: { CloseConnection(connection: unknown): void } = requireFrom(
  requireFrom(import.meta.url).resolve("chdb"),
)("./dist/loader.js").loadNative();

function writePreamble({ tag, database, settings, params }: EngineStatement): string {
  const assignments = [`log_comment = ${quoteText(tag)}`];
  for (const [name, value] of settings) assignments.push(`${identifier(name)} = ${quoteText(value)}`);
  for (const [name, value] of params)
    assignments.push(`${identifier(`param_${name}`)} = ${quoteText(value)}`);
  const use = database === "default" ? "" : `USE ${quoteName(database)}; `;
  return `${use}SET ${assignments.join(", ")}`;
}

function identifier(name: string): string {
  if (/^\w+$/.test(name)) return name;
  throw new EngineError(`Code: 115. DB::Exception: Unknown setting '${name}'. (UNKNOWN_SETTING)`, 115);
}

/** Returns the function that ends the watch; the statement's end is awaited elsewhere. */
function cancelWhenAborted(path: string, abort: AbortSignal, tag: string): () => void {
  let ended = false;
  const cancel = async (): Promise<void> => {
    while (!ended) {
      const session = openSession(path);
      await session
        .queryAsync(`KILL QUERY WHERE Settings['log_comment'] = ${quoteText(tag)} ASYNC`)
        .catch(() => {})
        .finally(() => closeSession(session));
      if (!ended) await sleep(cancelAgainMs);
    }
  };
  const onAbort = (): void => void cancel().catch(() => {});
  abort.addEventListener("abort", onAbort, { once: true });
  return () => {
    ended = true;
    abort.removeEventListener("abort", onAbort);
  };
}

function engineError(thrown: unknown): EngineError {
  if (thrown instanceof EngineError) return thrown;
  const message = toReason(thrown);
  const code = /^Code: (\d+)\. DB::Exception/.exec(message)?.[1];
  if (code) return new EngineError(message, Number(code));
  return new EngineError(`Code: ${unknownCode}. DB::Exception: ${message} (UNKNOWN_EXCEPTION)`, unknownCode);
}
