// Shows the progress of an import: a bar on a terminal, otherwise a line at intervals.

import { formatCount } from "./counts.ts";
import { importLimits } from "./limits.ts";
import type { ImportParts } from "./options.ts";

interface Progress {
  /** Bytes read from all files, before inflating. */
  bytes: number;
  records: number;
  /** Rows that the server has answered. */
  sent: number;
  /** Records with an outcome: answered, rejected or skipped. */
  settled: number;
}

interface ReporterOptions extends Pick<ImportParts, "terminal" | "clock" | "printError" | "draw"> {
  /** Bytes of all files, before inflating; undefined when the size of one is not known. */
  bytesTotal: number | undefined;
}

const drawGapMs = 100;
/** The least time between lines: when another tenth is done, and otherwise. A short import prints none. */
const tenthGapMs = 1000;
const lineGapMs = 10_000;
const barCells = 24;
const clearLine = "\r\u001b[2K";

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #startMs: number;
  #shownMs: number;
  #shownTenth = 0;
  #drawn = false;
  #rejected = 0;
  #ignored = 0;
  #waitShownMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#startMs = options.clock.elapsed();
    this.#shownMs = this.#startMs;
  }

  /** Prints a line above the bar. */
  print(line: string): void {
    if (this.#drawn) this.#options.draw(clearLine);
    this.#drawn = false;
    this.#options.printError(line);
  }

  /** Reports a rejected record; the first linesShownMax are printed. */
  reject(file: string, line: number, reason: string): void {
    if (++this.#rejected <= importLimits.linesShownMax) this.print(`${file}:${line}: ${reason}`);
  }

  /** Reports an ignored row; the first linesShownMax are printed, and the summary counts all by reason. */
  ignore(file: string, line: number, reason: string): void {
    if (++this.#ignored <= importLimits.linesShownMax) this.print(`${file}:${line}: ignored: ${reason}`);
  }

  /** Reports an attempt that will be repeated; at most every 5 s, since it usually concerns many bodies. */
  wait(reason: string, waitMs: number, attempt: number): void {
    const now = this.#options.clock.elapsed();
    if (now - this.#waitShownMs < 5000) return;
    this.#waitShownMs = now;
    this.print(
      `the server answered ${reason}; trying again in ${seconds(waitMs)} (attempt ${attempt} failed)`,
    );
  }

  update(progress: Progress): void {
    const { clock, terminal, draw } = this.#options;
    const now = clock.elapsed();
    const part = this.#findPart(progress);
    if (terminal) {
      if (now - this.#shownMs < drawGapMs) return;
      draw(`${clearLine}${this.#bar(part)}${this.#text(progress, part, now)}`);
      this.#drawn = true;
    } else {
      const tenth = Math.floor((part ?? 0) * 10);
      const dueMs = tenth > this.#shownTenth ? tenthGapMs : lineGapMs;
      if (now - this.#shownMs < dueMs) return;
      this.#shownTenth = Math.max(tenth, this.#shownTenth);
      this.print(this.#text(progress, part, now));
    }
    this.#shownMs = now;
  }

  /** Removes the bar and prints how many lines were not shown. */
  close(): void {
    if (this.#drawn) this.#options.draw(clearLine);
    this.#drawn = false;
    const hidden = this.#rejected - importLimits.linesShownMax;
    if (hidden > 0) this.print(`… and ${formatCount(hidden)} more rejected lines`);
    if (this.#ignored > importLimits.linesShownMax)
      this.print("… and more that the server ignored, counted below");
  }

  #findPart(progress: Progress): number | undefined {
    const total = this.#options.bytesTotal;
    if (total === undefined || total === 0) return undefined;
    // The part of the bytes read whose records have an outcome: 100 % means that all is sent.
    const { bytes, records, settled } = progress;
    return Math.min(1, bytes / total) * (records === 0 ? 0 : Math.min(1, settled / records));
  }

  #bar(part: number | undefined): string {
    if (part === undefined) return "";
    const full = Math.round(part * barCells);
    return `[${"#".repeat(full)}${".".repeat(barCells - full)}] `;
  }

  #text(progress: Progress, part: number | undefined, now: number): string {
    const passedMs = Math.max(1, now - this.#startMs);
    const rate = formatCount(Math.round((progress.records / passedMs) * 1000));
    const words = [
      `${formatCount(progress.records)} read`,
      `${rate}/s`,
      `${formatCount(progress.sent)} sent`,
    ];
    if (part !== undefined) {
      words.unshift(`${Math.floor(part * 100)} %`);
      if (part > 0) words.push(`${seconds((passedMs / part) * (1 - part))} left`);
    }
    return words.join("  ");
  }
}

function seconds(ms: number): string {
  const whole = Math.ceil(ms / 1000);
  if (whole < 60) return `${whole} s`;
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${(whole / 3600).toFixed(1)} h`;
}
