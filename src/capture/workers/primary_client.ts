// What a worker leaves to worker 1, since it has to be looked at as a whole: merges, spikes, how many warnings are
// listed. Never keeps an event from being taken.

import { Fault } from "../../core/fault.ts";
import { captureLimits } from "../limits.ts";
import { workerLimits } from "./limits.ts";
import type { Rpc } from "../../work/rpc.ts";
import type { MergeRow, MergeTaker } from "../flush/merge_row.ts";
import { type Unlisted, minuteMicros } from "../warnings/warning_quota.ts";
import type { SharedBook } from "../warnings/warning_book.ts";

export class PrimaryClient implements SharedBook {
  readonly merges: MergeTaker;
  readonly #link: Rpc;
  /** Live events by project, since they were last told. */
  #live = new Map<number, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  /** By project and type: of which nothing more may be listed in `#minute`, and how many there were since told. */
  #full = new Map<string, Unlisted>();
  #minute = 0;

  constructor(link: Rpc) {
    this.#link = link;
    this.merges = new FarMerges(link);
    this.#timer = setInterval(() => this.#tellLive(), workerLimits.workerTellMs);
  }

  count(project_id: number, events: number): void {
    this.#live.set(project_id, (this.#live.get(project_id) ?? 0) + events);
  }

  admit(project_id: number, type: string, count: number, now: number): number | Promise<number> {
    const minute = Math.floor(now / minuteMicros);
    if (minute !== this.#minute) this.#turn(minute);
    const full = this.#full.get(`${project_id} ${type}`);
    if (!full) return this.#ask({ project_id, type, minute, count });
    full.count += count;
    return 0;
  }

  /** Tells worker 1 what was not listed; nothing of it is left to be told here. */
  take(): Unlisted[] {
    const unlisted = [...this.#full.values()].filter(({ count }) => count > 0);
    if (unlisted.length > 0) this.#link.tell("unlisted", unlisted);
    for (const one of unlisted) one.count = 0;
    return [];
  }

  /** Tells the last of it. */
  close(): void {
    clearInterval(this.#timer);
    this.#tellLive();
    this.take();
  }

  #turn(minute: number): void {
    this.take();
    this.#full.clear();
    this.#minute = minute;
  }

  /** Worker 1 counts what it has no room for. */
  async #ask({ project_id, type, minute, count }: Unlisted): Promise<number> {
    const room = Number(await this.#link.ask("room", { project_id, type, count }).catch(() => 0));
    const known = minute === this.#minute && this.#full.size < captureLimits.warningTalliesMax;
    if (room < count && known)
      this.#full.set(`${project_id} ${type}`, { project_id, type, minute, count: 0 });
    return room;
  }

  #tellLive(): void {
    if (this.#live.size === 0) return;
    this.#link.tell("live", [...this.#live]);
    this.#live = new Map();
  }
}

/** Merges go to worker 1's lane, so that all of a machine are applied in the order they came in. */
class FarMerges implements MergeTaker {
  failedGroups = 0;
  writingRows = 0;
  readonly #link: Rpc;
  #rows: MergeRow[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(link: Rpc) {
    this.#link = link;
  }

  get openRows(): number {
    return this.#rows.length;
  }

  get crowded(): boolean {
    return this.#rows.length >= workerLimits.farMergesMax;
  }

  append(row: MergeRow): void {
    this.#rows.push(row);
  }

  commit(): Promise<void> {
    // Answers come in order: the last one's is everybody's, and what fails shows in failedGroups.
    while (this.#rows.length > 0) {
      this.#writing = this.#send(this.#rows.splice(0, workerLimits.farMergesMax));
      this.#writing.catch(() => {});
    }
    return this.#writing;
  }

  async #send(rows: MergeRow[]): Promise<void> {
    this.writingRows += rows.length;
    try {
      await this.#link.ask("merges", rows);
    } catch {
      this.failedGroups++;
      const detail = "Merges cannot be kept right now. Send the events again later.";
      throw new Fault("unavailable", detail, { retryAfterSeconds: 5 });
    } finally {
      this.writingRows -= rows.length;
    }
  }
}
