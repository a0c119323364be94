// What a worker is told before it begins, in the first line of its standard input. Holds passwords: it is never an
// argument, and never logged.

import type { LogLevel } from "../../core/log.ts";

export interface WorkerConfig {
  /** From 2 on: worker 1 is the server itself. */
  number: number;
  /** Where quarantined events rest, for all workers. */
  dataDir: string;
  /** Where this worker's journal rests. */
  ownDir: string;
  databaseUrl: string;
  /** Where that is, without user and password; "embedded" when it is. */
  postgres: string;
  clickhouseUrl: string;
  /** Whether the ClickHouse is the embedded one, which reads batches by file name. */
  embedded: boolean;
  host: string;
  /** The port that all workers share. */
  port: number;
  /** Where worker 1 answers what is no event: http://127.0.0.1:PORT. */
  inside: string;
  captureAck: "journal" | "stored" | "memory";
  flushIntervalMs: number;
  /** This worker's part of what may wait. */
  journalBytesMax: number;
  /** How many workers there are: memory for bodies is divided among them. */
  workers: number;
  bodyBytesMax: number;
  trustedProxies: readonly string[];
  recordingRetentionDays: number;
  logLevel: LogLevel;
}

/** A worker's own folder. */
export function workerDir(dataDir: string, number: number): string {
  return `${dataDir}/workers/${number}`;
}
