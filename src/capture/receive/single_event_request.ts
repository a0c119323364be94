// A request with a short body and no query, as nearly all live ones are: one plain event is taken in the turn in which
// it is here, and answered with its group. Never waits for a promise, and never takes anything else: that is handed on.

import type { Clock } from "../../core/clock.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import { withCors } from "../../http/cors.ts";
import { problemResponse } from "../../http/problem.ts";
import type { MemoryBudget } from "../../work/memory_budget.ts";
import type { Receiver } from "./upload.ts";
import type { CaptureOptions } from "../pipeline.ts";
import { usualReply } from "./reply.ts";
import type { SingleEvents, TakenEvent } from "./single_event.ts";
import type { CommitWaiter } from "../journal/commit_waiters.ts";

export interface AnswerOptions extends CaptureOptions {
  clock: Clock;
  /** Of all request bodies of this process. */
  memory: MemoryBudget;
  refused(code: FaultCode): void;
  /** The answer to a request that failed for no fault of its own. */
  failed(thrown: unknown, request: Request): Response;
  seconds(value: number): void;
}

export interface SingleEventRequestOptions {
  request: Request;
  /** Bytes of its body, which were acquired: given back when it is answered, or handed on with it. */
  announced: number;
  /** By the clock's elapsed(). */
  started: number;
  singles: SingleEvents;
  options: AnswerOptions;
}

type Answer = (response: Response | Promise<Response>) => void;

export class SingleEventRequest implements Receiver, CommitWaiter {
  readonly #short: SingleEventRequestOptions;
  readonly #answer: Answer;
  readonly #handOn: (body: Uint8Array) => Promise<Response>;
  #taken: TakenEvent | undefined;

  /** `handOn` answers a body that is something else, and counts it and its time. */
  constructor(
    short: SingleEventRequestOptions,
    answer: Answer,
    handOn: (body: Uint8Array) => Promise<Response>,
  ) {
    this.#short = short;
    this.#answer = answer;
    this.#handOn = handOn;
  }

  arrived(body: Uint8Array): void {
    const { options, singles } = this.#short;
    try {
      this.#taken = options.ack === "journal" ? singles.take(body) : undefined;
      if (this.#taken) this.#taken.lane.join(this);
      else this.#answer(this.#handOn(body));
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  late(fault: Fault): void {
    this.#refuse(fault);
  }

  kept(): void {
    const { request, options } = this.#short;
    try {
      const { project_id, historical_migration } = this.#taken!;
      options.counts.received(1);
      options.counts.accepted(historical_migration ? "historical" : "live", 1);
      if (!historical_migration) options.book.count(project_id, 1);
      this.#end(usualReply(request));
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  refused(fault: Fault): void {
    this.#refuse(fault);
  }

  #refuse(thrown: unknown): void {
    const { request, options } = this.#short;
    this.#end(captureRefusal(thrown, request, options));
  }

  #end(response: Response): void {
    const { options, announced, started } = this.#short;
    options.memory.releaseShort(announced);
    this.#answer(response);
    options.seconds((options.clock.elapsed() - started) / 1000);
  }
}

/** What a request is answered that was not taken; `more`: what its body says beside the usual fields. */
export function captureRefusal(
  thrown: unknown,
  request: Request,
  options: AnswerOptions,
  more?: (fault: Fault) => Record<string, string>,
): Response {
  if (!(thrown instanceof Fault)) return options.failed(thrown, request);
  options.refused(thrown.code);
  const problem = problemResponse(thrown, more?.(thrown));
  // The rest of a body that came too late is not waited for: its connection cannot go on.
  if (thrown.code === "upload_timeout") problem.headers.set("connection", "close");
  return withCors(request, problem);
}
