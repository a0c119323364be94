// One further worker, as worker 1 runs it: started, called, restarted when it ends, stopped. The start of a worker that
// fails is repeated until it serves; the others serve meanwhile.

import { fileURLToPath } from "node:url";
import { limits } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { countedBy, type MetricsRead } from "../../http/metrics/metrics.ts";
import { type Child, type ChildPlan, type ChildProcess, startChild } from "../../storage/embedded/child.ts";
import { type FlushTrouble, noTrouble } from "../../storage/engine_watch.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { type Answers, openRpc, type Rpc, type RpcMessage } from "../../work/rpc.ts";
import { captureSetup } from "../capture_journal.ts";
import { Ledger } from "../journal/ledger.ts";
import type { WorkerConfig } from "./worker.ts";

interface WorkerProcessOptions {
  config: WorkerConfig;
  answers: Answers;
  isFlushing(): boolean;
  log: Log;
}

export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #name: string;
  /** The link to the current process, and the same while that serves. */
  #open: Rpc | undefined;
  #link: Rpc | undefined;
  #starting: Promise<void> | undefined;
  #child: Child | undefined;
  readonly #stopping = new AbortController();
  #before: MetricsRead = {};
  /** The latest metrics of the current process, or the last one. */
  #last: MetricsRead = {};

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    this.#name = `worker ${options.config.number}`;
  }

  get serves(): boolean {
    return this.#link !== undefined;
  }

  /** Resolves when it serves, or has failed to start once; then it is tried again until it serves. */
  start(): Promise<void> {
    const tried = Promise.withResolvers<void>();
    const { log } = this.#options;
    const failure = `${this.#name} is tried again`;
    const bounds = { stopping: this.#stopping.signal, pauseMsMax: limits.childRestartMsMax };
    const start = async () => {
      this.#child = await startChild(this.#plan()).finally(() => tried.resolve());
    };
    this.#starting = retryUntilDone(start, { ...bounds, log, failure });
    return tried.promise;
  }

  flush(): void {
    this.#link?.send("flush");
  }

  /** Its metrics. While the process is down, the last ones, with what it left in the journal. */
  async read(): Promise<MetricsRead[]> {
    try {
      if (this.#link) this.#last = (await this.#link.request("metrics")) as MetricsRead;
    } catch {
      // It has just died, or is busy: the last metrics are used.
    }
    return [this.#before, this.#last];
  }

  /** @throws when it serves and cannot write its journal. */
  async check(): Promise<void> {
    await this.#link?.request("check");
  }

  /** The trouble of its flush; none while the process is down. */
  async readTrouble(): Promise<FlushTrouble> {
    const trouble = this.#link?.request("trouble").catch(() => undefined);
    return ((await trouble) as FlushTrouble | undefined) ?? noTrouble;
  }

  /** Resolves when it has answered its requests; then it flushes its journal. */
  async quiet(): Promise<void> {
    this.#stopping.abort();
    const exit = this.gone();
    await Promise.race([this.#farewell.promise, exit]);
  }

  async gone(): Promise<void> {
    this.#stopping.abort();
    await this.#starting;
    await this.#child?.stop();
  }

  readonly #farewell = Promise.withResolvers<void>();

  #plan(): ChildPlan {
    const { config, log } = this.#options;
    const entry = fileURLToPath(new URL("./worker.ts", import.meta.url));
    return {
      name: this.#name,
      command: () => [process.execPath, "--no-install", "--no-env-file", entry],
      firstLine: JSON.stringify(config),
      ready: (child) => this.#live(child),
      received: (message) => this.#open?.receive(message as RpcMessage),
      isBusy: (reason) => reason.includes("is in use by process"),
      farewell: async () => {
        await this.#link?.request("stop", undefined, limits.stopRequestsMsMax).catch(() => {});
        this.#farewell.resolve();
      },
      stopMsMax: limits.stopMsMax - limits.stopRequestsMsMax,
      kill: () => {},
      log,
    };
  }

  #live(child: ChildProcess): Promise<void> {
    const ready = Promise.withResolvers<void>();
    const { answers, isFlushing, log } = this.#options;
    const link = openRpc((message) => child.send(message), {
      ...answers,
      log: (line: string) => this.#pass(log, line),
      ready: () => {
        this.#before = countedBy(this.#last, this.#before);
        this.#last = {};
        this.#link = link;
        if (isFlushing()) link.send("flush");
        ready.resolve();
      },
    });
    this.#open = link;
    void child.exited.then(() => {
      link.end();
      if (this.#link === link) this.#end();
    });
    return ready.promise;
  }

  #end(): void {
    this.#link = undefined;
    const { ownDir } = this.#options.config;
    const bytes = this.#stopping.signal.aborted ? 0 : leftBytes(`${ownDir}/journal`);
    if (bytes === 0) return;
    const before = this.#last["sluice_journal_pending_events"]?.lines[0]?.[1] ?? 0;
    // The number of events is known only when they are read.
    this.#last = { ...this.#last, ...toPendingGauges(Math.max(before, 1), bytes) };
  }

  #pass(log: Log, line: string): void {
    const { time: _, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const write = log[level as keyof Log] ?? log.info;
    write(String(message), { ...fields, worker: this.#options.config.number });
  }
}

function leftBytes(folder: string): number {
  try {
    const { expected } = new Ledger(captureSetup, folder).read();
    return expected.values().reduce((sum, { bytes }) => sum + bytes, 0);
  } catch {
    return 0;
  }
}

function toPendingGauges(events: number, bytes: number): MetricsRead {
  const gauge = (name: string, value: number): MetricsRead => ({
    [name]: { kind: "gauge", lines: [[name, value]] },
  });
  return {
    ...gauge("sluice_journal_pending_events", events),
    ...gauge("sluice_journal_pending_bytes", bytes),
  };
}
