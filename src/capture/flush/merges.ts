// The flush of merges: segment by segment into Postgres, then mirrored to ClickHouse. Retries until it succeeds or is
// stopped; events do not wait for it.

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { AnnouncedType } from "../../persons/group_type_store.ts";
import { mirrorMerges } from "../../persons/mirror_store.ts";
import { type Applied, applyMerges, forgetSegment, forgetSegments } from "../../persons/store.ts";
import { statementsUntil } from "../../storage/clickhouse/clickhouse.ts";
import type { FlushTrouble } from "../../storage/engine_watch.ts";
import type { Uses } from "../../storage/services.ts";
import { retryUntilDone } from "../../work/retry.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import { readMergeRows } from "../event/merge_row.ts";
import { type Segment, segmentEnding } from "../journal/segments/segment.ts";
import { stopAfter } from "./flush_state.ts";
import { flushLimits } from "./limits.ts";

interface MergeFlushOptions extends Uses<"sql" | "clickhouse" | "log"> {
  journal: CaptureJournal;
  onApplied(applied: Applied): void;
  readTrouble(): FlushTrouble;
}

export class MergeFlush {
  readonly #options: MergeFlushOptions;
  readonly #stopping = new AbortController();
  #isDraining = false;
  /** Whether Postgres may know segments whose files are removed: a process was killed before it forgot them. */
  #mayKnowFinished = true;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: MergeFlushOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Applies what is sealed, for at most `ms`; the next start finds the rest. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    this.#options.journal.nudge();
    const callOff = stopAfter(this.#stopping, ms, this.#options.readTrouble);
    await this.#loop;
    callOff();
  }

  async #run(): Promise<void> {
    const { journal } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const segment = journal.nextSealed(journal.merges.kind);
      if (segment) await retryUntilDone(() => this.#apply(segment), this.#retrying);
      else if (this.#isDraining) return;
      else if (!this.#mayKnowFinished || !(await this.#forgetFinished()))
        await journal.sealedSoon(flushLimits.returnedPollMs);
    }
  }

  get #retrying() {
    return { stopping: this.#stopping.signal, log: this.#options.log, failure: "merges failed; retrying" };
  }

  /** Each step can be repeated: Postgres records the segment's name, and ClickHouse's rows have versions. */
  async #apply(segment: Segment): Promise<void> {
    const { journal, sql, clickhouse, onApplied } = this.#options;
    const name = basename(segment.path);
    const types: AnnouncedType[] = [];
    const bytes = new Uint8Array(await readFile(segment.path));
    const frames = segment.batches.flatMap((batch) => batch.frames);
    const payloads = frames.map(({ offset, length }) => bytes.subarray(offset, offset + length));
    const merges = readMergeRows(payloads, types, flushLimits.mergesDecidedMax);
    const applied = await applyMerges(sql, name, merges, types);
    onApplied(applied);
    await mirrorMerges(sql, statementsUntil(clickhouse, this.#stopping.signal), applied.version);
    // Retried apart from the other steps, which need the file. Postgres forgets the name only when the file is gone.
    const finished = await retryUntilDone(() => journal.finish(segment).then(() => true), this.#retrying);
    if (finished) await forgetSegment(sql, name).catch(() => (this.#mayKnowFinished = true));
  }

  /**
   * Makes Postgres forget this journal's segments; called only while none waits, since Postgres must know an applied
   * segment for as long as its file exists.
   * @returns whether it succeeded; if not, it is tried again when nothing else is to be done.
   */
  async #forgetFinished(): Promise<boolean> {
    const { journal, sql } = this.#options;
    const forgetting = forgetSegments(sql, segmentEnding(journal.number)).then(() => false);
    this.#mayKnowFinished = await forgetting.catch(() => true);
    return !this.#mayKnowFinished;
  }
}
