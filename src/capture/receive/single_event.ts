// Requests with a short body, as nearly all live ones are. A body that is one plain event, in a request without a
// query, is indexed, classified and appended in the turn in which it arrives, without an object, and answered with its
// group, without a promise. Any other body is passed to the pipeline.

import { isUtf8 } from "node:buffer";
import type { MemoryBudget, MemoryLease } from "../../work/bodies/memory_budget.ts";
import type { Receiver, UploadBounds } from "../../work/bodies/upload.ts";
import type { EventLane } from "../capture_journal.ts";
import type { CaptureOptions, EndpointRules } from "../capture_options.ts";
import type { EventContext } from "../event/event.ts";
import { entryLength, envelope } from "../fields/event_fields.ts";
import type { CommitWaiter } from "../journal/lane.ts";
import { type Envelope, isHistorical, readBodyKey } from "../scan/event_index.ts";
import { aheadMicrosMax } from "../scan/timestamp.ts";
import { singleKey } from "../wasm/layout.ts";
import type { ColumnBatch, ScanArena } from "../wasm/scan_arena.ts";
import { type ArenaPool, ReceivedBody } from "./received_body.ts";
import { captureRefusal, captureReply, type RefusalOptions } from "./reply.ts";

export interface AnswerOptions extends CaptureOptions, RefusalOptions {
  bodyBytesMax: number;
  /** The budget of all request bodies of this process. */
  memory: MemoryBudget;
  /** The client's address, if it is known. */
  readAddress(request: Request): string | undefined;
  /** Bounds of an upload; the usual ones by default. */
  uploadBounds?: UploadBounds;
  observeSeconds(value: number): void;
}

/** Parts that all requests share. */
export interface SingleEventContext {
  options: AnswerOptions;
  singles: SingleEventWriter;
  /** Answers a short body that is not one plain event, counts it, and measures its time. */
  answerShort(single: SingleEventRequest, body: ReceivedBody): Promise<Response>;
}

export class SingleEventWriter implements Envelope {
  readonly shape = "event";
  readonly items = 1;
  readonly itemKeysDiffer = false;
  readonly bytes: Uint8Array;
  readonly #arenas: ArenaPool;
  readonly #arena: ScanArena;
  /** The result of the arena's open() for the last body; undefined when it was not called. */
  #opened: number | undefined;
  readonly #options: CaptureOptions;
  readonly #eventContext: EventContext;
  #columns: ColumnBatch | undefined;
  readonly #append: (block: { appendColumns(columns: ColumnBatch): number }) => number;

  constructor(arenas: ArenaPool, options: CaptureOptions) {
    this.#arenas = arenas;
    this.#arena = arenas.short;
    this.bytes = this.#arena.body;
    this.#options = options;
    const { groupTypes } = options;
    this.#eventContext = { project_id: 0, historical_migration: false, received: 0, skew: 0, groupTypes };
    this.#append = (block) => block.appendColumns(this.#columns!);
  }

  /**
   * Appends the event of a body shorter than captureLimits.arenaBodyBytesMin; returns its lane, and sets the
   * recipient's project and lane. Undefined, and nothing is appended, when the body is not one plain event of a known
   * project, or has to wait.
   * @throws Fault as readBodyKey() and CaptureQuota.chooseLane() do.
   */
  append(body: Uint8Array, recipient: SingleEventRequest): EventLane | undefined {
    this.#opened = undefined;
    const { journal, keys, clock, definitions, dailyQuotas } = this.#options;
    if (journal.isFull || !isUtf8(body)) return undefined;
    const arena = this.#arena;
    arena.copy(body);
    this.#opened = arena.open();
    if (this.#opened !== 1) return undefined;
    const project_id = keys.find(readBodyKey(this));
    if (project_id === undefined) return undefined;
    const historical_migration = isHistorical(this);
    const lane = journal.quota.chooseLane(project_id, historical_migration);
    if (lane.isCrowded) return undefined;
    const eventContext = this.#eventContext;
    eventContext.project_id = project_id;
    eventContext.historical_migration = historical_migration;
    eventContext.received = clock.now() * 1000;
    arena.classify(0, 1, eventContext, eventContext.received + aheadMicrosMax);
    if (arena.slowCount > 0 || arena.warnedCount > 0 || arena.yearCount !== 1) return undefined;
    // The pipeline reads the names of an event of a new shape.
    if (!definitions.shapes.of(project_id).has(arena.shapes[0]!, arena.shapes[1]!)) return undefined;
    const quota = keys.dailyEventQuota(project_id);
    // The pipeline ignores an event beyond the quota.
    if (quota < Number.POSITIVE_INFINITY && dailyQuotas.acquire(project_id, quota, 1) === 0) return undefined;
    const created = journal.stamp();
    const rank = journal.allocateRanks(1);
    const columns = (this.#columns = arena.writeColumns(0, 0, eventContext, created, rank));
    if (columns.identity) journal.firstRanks.settleMany(columns.identity, 1);
    lane.appendMany(arena.yearAt(0), 1, this.#append, project_id);
    recipient.project_id = project_id;
    recipient.historical_migration = historical_migration;
    return lane;
  }

  /** The body, with the result of its open() if append() has just declined it; to be called in the same turn. */
  received(body: Uint8Array, isDeclined: boolean): ReceivedBody {
    return new ReceivedBody(this.#arenas, body, isDeclined ? this.#opened : undefined);
  }

  member(name: keyof typeof envelope): [number, number] | undefined {
    return this.#rangeAt(envelope[name]);
  }

  get itemKey(): [number, number] | undefined {
    return this.#rangeAt(singleKey);
  }

  /** One of the pairs that open() writes after the entry. */
  #rangeAt(number: number): [number, number] | undefined {
    const { entries } = this.#arena;
    const to = entries[entryLength + number + 1]!;
    return to > 0 ? [entries[entryLength + number]!, to] : undefined;
  }
}

export class SingleEventRequest implements Receiver, CommitWaiter {
  /** The event's project and lane, once it is appended. */
  project_id = 0;
  historical_migration = false;
  readonly request: Request;
  readonly rules: EndpointRules;
  readonly announced: number;
  /** Has the bytes of the body from its arrival until it is answered. */
  readonly lease: MemoryLease;
  /** Moment of the clock's elapsed(). */
  readonly started: number;
  readonly #context: SingleEventContext;
  readonly #answer: (response: Response | Promise<Response>) => void;

  constructor(
    request: Request,
    rules: EndpointRules,
    announced: number,
    started: number,
    context: SingleEventContext,
    answer: (response: Response | Promise<Response>) => void,
  ) {
    this.request = request;
    this.rules = rules;
    this.announced = announced;
    this.lease = context.options.memory.open(announced);
    this.started = started;
    this.#context = context;
    this.#answer = answer;
  }

  onBody(body: Uint8Array): void {
    const { options, singles } = this.#context;
    try {
      this.lease.resize(body.length);
      const isPlain = options.ack === "journal" && !this.request.url.includes("?");
      const lane = isPlain ? singles.append(body, this) : undefined;
      if (lane) lane.join(this);
      else this.#answer(this.#context.answerShort(this, singles.received(body, isPlain)));
    } catch (thrown) {
      this.onFailed(thrown);
    }
  }

  onCommitted(): void {
    const { project_id, historical_migration } = this;
    const { options } = this.#context;
    try {
      options.counts.received(1);
      options.counts.accepted(historical_migration ? "historical" : "live", 1);
      if (!historical_migration) options.book.count(project_id, 1);
      this.#end(captureReply(this.request));
    } catch (thrown) {
      this.onFailed(thrown);
    }
  }

  onFailed(thrown: unknown): void {
    const { options } = this.#context;
    // Its sender sends it again.
    if (this.project_id > 0 && options.keys.dailyEventQuota(this.project_id) < Number.POSITIVE_INFINITY)
      options.dailyQuotas.release(this.project_id, 1);
    this.#end(captureRefusal(thrown, this.request, options));
  }

  #end(response: Response): void {
    const { options } = this.#context;
    this.lease.close();
    this.#answer(response);
    options.observeSeconds((options.clock.elapsed() - this.started) / 1000);
  }
}
