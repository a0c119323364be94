// How an import tells a person where it is: a bar on a terminal, a line now and then elsewhere. Never counts.

import type { Clock } from "../../core/clock.ts";
import { importLimits } from "./limits.ts";
import { grouped } from "./tally.ts";

export interface Progress {
  /** Bytes read of all files, before inflating. */
  bytes: number;
  /** Records read. */
  records: number;
  /** Rows the server has answered for. */
  sent: number;
  /** Records whose fate is known: answered for, rejected or left out. */
  settled: number;
}

export interface ReporterOptions {
  /** Bytes of all files, before inflating; undefined when one of them does not say. */
  bytesTotal: number | undefined;
  terminal: boolean;
  clock: Clock;
  /** A line for the person. */
  complain(line: string): void;
  /** Raw text for the terminal. */
  draw(text: string): void;
}

const drawGapMs = 100;
/** Between lines, when another tenth is done and when it is not: a short import needs none. */
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
  #complaints = 0;
  #ignored = 0;
  #waitShownMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#startMs = options.clock.elapsed();
    this.#shownMs = this.#startMs;
  }

  /** A line that stays. */
  say(line: string): void {
    if (this.#drawn) this.#options.draw(clearLine);
    this.#drawn = false;
    this.#options.complain(line);
  }

  /** A record that is not imported: the first few are shown. */
  reject(file: string, line: number, reason: string): void {
    if (++this.#complaints <= importLimits.importComplaintsMax) this.say(`${file}:${line}: ${reason}`);
  }

  /** A record the server made no event of: the first few are shown, the summary counts all by reason. */
  ignore(file: string, line: number, reason: string): void {
    if (++this.#ignored <= importLimits.importComplaintsMax) this.say(`${file}:${line}: ignored: ${reason}`);
  }

  /** An attempt that will be repeated; told now and then, since many bodies suffer together. */
  wait(reason: string, waitMs: number, attempt: number): void {
    const now = this.#options.clock.elapsed();
    if (now - this.#waitShownMs < 5000) return;
    this.#waitShownMs = now;
    this.say(`the server answered ${reason}; trying again in ${seconds(waitMs)} (attempt ${attempt} failed)`);
  }

  /** Shows how far it is, if it is time. */
  update(progress: Progress): void {
    const { clock, terminal, draw } = this.#options;
    const now = clock.elapsed();
    const part = this.#partOf(progress);
    if (terminal) {
      if (now - this.#shownMs < drawGapMs) return;
      draw(`${clearLine}${this.#bar(part)}${this.#text(progress, part, now)}`);
      this.#drawn = true;
    } else {
      const tenth = Math.floor((part ?? 0) * 10);
      const dueMs = tenth > this.#shownTenth ? tenthGapMs : lineGapMs;
      if (now - this.#shownMs < dueMs) return;
      this.#shownTenth = Math.max(tenth, this.#shownTenth);
      this.say(this.#text(progress, part, now));
    }
    this.#shownMs = now;
  }

  /** Takes the bar away and tells what was not shown. */
  close(): void {
    if (this.#drawn) this.#options.draw(clearLine);
    this.#drawn = false;
    const hidden = this.#complaints - importLimits.importComplaintsMax;
    if (hidden > 0) this.say(`… and ${grouped(hidden)} more rejected lines`);
    if (this.#ignored > importLimits.importComplaintsMax)
      this.say("… and more that the server ignored, counted below");
  }

  #partOf(progress: Progress): number | undefined {
    const total = this.#options.bytesTotal;
    if (total === undefined || total === 0) return undefined;
    // Of what was read, only what the server has answered for: nothing is whole before all is sent.
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
    const rate = grouped(Math.round((progress.records / passedMs) * 1000));
    const words = [`${grouped(progress.records)} read`, `${rate}/s`, `${grouped(progress.sent)} sent`];
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
