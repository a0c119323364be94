// A worker's client of worker 1, which keeps what must be known as a whole: the order of merges, spikes, the number of
// listed warnings.

import type { Rpc } from "../../work/rpc.ts";
import type { MergeAppender, MergeRow } from "../event/merge_row.ts";
import { CommitWaiters } from "../journal/lane.ts";
import { captureLimits } from "../limits.ts";
import type { SharedBook } from "../warnings/warning_book.ts";
import { minuteMicros, toPeriod, type Unlisted } from "../warnings/warning_quota.ts";

export class PrimaryClient implements SharedBook {
  readonly merges: MergeAppender;
  readonly #link: Rpc;
  #live = new Map<number, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  /** Warnings by project and type that may not be listed any more in `#minute`, counted since the last message. */
  #full = new Map<string, Unlisted>();
  #minute = 0;

  constructor(link: Rpc) {
    this.#link = link;
    this.merges = new SentMerges(link);
    this.#timer = setInterval(() => this.#sendLive(), captureLimits.workerTellMs);
  }

  count(project_id: number, events: number): void {
    this.#live.set(project_id, (this.#live.get(project_id) ?? 0) + events);
  }

  admit(project_id: number, type: string, count: number, now: number): number | Promise<number> {
    const minute = Math.floor(now / minuteMicros);
    if (minute !== this.#minute) {
      this.drain();
      this.#full.clear();
      this.#minute = minute;
    }
    const full = this.#full.get(`${project_id} ${type}`);
    if (!full) return this.#admit({ project_id, type, minute: toPeriod(type, now), count });
    full.count += count;
    return 0;
  }

  /** Sends worker 1 the counts of what was not listed; this process writes none. */
  drain(): Unlisted[] {
    const unlisted = [...this.#full.values()].filter(({ count }) => count > 0);
    if (unlisted.length > 0) this.#link.send("unlisted", unlisted);
    for (const item of unlisted) item.count = 0;
    return [];
  }

  close(): void {
    clearInterval(this.#timer);
    this.#sendLive();
    this.drain();
  }

  /** Requests from worker 1 how many may be listed; it counts the others. */
  async #admit({ project_id, type, minute, count }: Unlisted): Promise<number> {
    const current = this.#minute;
    const listable = Number(await this.#link.request("list", { project_id, type, count }).catch(() => 0));
    const known = current === this.#minute && this.#full.size < captureLimits.warningTalliesMax;
    if (listable < count && known)
      this.#full.set(`${project_id} ${type}`, { project_id, type, minute, count: 0 });
    return listable;
  }

  #sendLive(): void {
    if (this.#live.size === 0) return;
    this.#link.send("live", [...this.#live]);
    this.#live = new Map();
  }
}

/** Sends merges to worker 1's lane, so that all merges of a machine are applied in order of arrival. */
class SentMerges implements MergeAppender {
  group = new CommitWaiters();
  readonly #link: Rpc;
  #rows: MergeRow[] = [];

  constructor(link: Rpc) {
    this.#link = link;
  }

  get openRows(): number {
    return this.#rows.length;
  }

  get isCrowded(): boolean {
    return this.#rows.length >= captureLimits.sentMergesMax;
  }

  append(row: MergeRow): void {
    this.#rows.push(row);
  }

  commit(): Promise<void> {
    const { group } = this;
    const rows = this.#rows;
    if (rows.length === 0) return Promise.resolve();
    this.group = new CommitWaiters();
    this.#rows = [];
    const calls: Promise<unknown>[] = [];
    for (let from = 0; from < rows.length; from += captureLimits.sentMergesMax) {
      calls.push(this.#link.request("merges", rows.slice(from, from + captureLimits.sentMergesMax)));
    }
    Promise.all(calls).then(
      () => group.commit(),
      () => group.fail(),
    );
    return group.promise;
  }
}
