// Where lines for the owner of an export are put, and for how long. Never holds a secret: they are shown.

import { storableText } from "../../core/foreign_text.ts";
import { exportLimits } from "../limits.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";

export type LogLevel = "DEBUG" | "INFO" | "WARNING" | "ERROR";

/** One line for the owner of an export. */
export interface LogLine {
  batch_export_id: string;
  run_id: string | null;
  level: LogLevel;
  message: string;
}

export async function writeLog(sql: Postgres, line: LogLine, now: number): Promise<void> {
  await sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, "timestamp", level, message)
    VALUES (${line.batch_export_id}, ${line.run_id}, ${new Date(now)}, ${line.level},
      ${storableText(line.message, exportLimits.exportLineCharsMax)})`;
}

/** Drops lines too old to help. */
export async function forgetLogs(sql: Postgres, now: number): Promise<void> {
  await sql`DELETE FROM batch_export_logs WHERE "timestamp" < ${new Date(now - exportLimits.exportLogsAgeMsMax)}`;
}
