// A worker's configuration, the first line of its standard input. It holds passwords, so it is neither an argument nor
// logged.

import type { LogLevel } from "../../core/log.ts";

export interface WorkerConfig {
  /** At least 2, as worker 1 is the server itself. */
  number: number;
  /** The folder with the quarantine of all workers. */
  dataDir: string;
  /** The folder with this worker's journal. */
  ownDir: string;
  databaseUrl: string;
  /** Where that is, without user and password, or "embedded". */
  postgres: string;
  clickhouseUrl: string;
  /** Whether ClickHouse is the embedded one, which reads batches by file name. */
  embedded: boolean;
  host: string;
  /** The port that all workers share. */
  port: number;
  /** Where worker 1 answers all but captures: http://127.0.0.1:PORT. */
  inside: string;
  captureAck: "journal" | "stored" | "memory";
  flushIntervalMs: number;
  /** This worker's part of JOURNAL_BYTES_MAX. */
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
