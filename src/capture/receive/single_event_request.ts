// A request with a short body and no query, as nearly all live ones are: one plain event is appended in the turn in
// which it arrives, and answered with its group, without a promise. Any other body is answered as usual.

import type { Clock } from "../../core/clock.ts";
import { Fault, type FaultCode } from "../../core/fault.ts";
import { withCors } from "../../http/cors.ts";
import { problemResponse } from "../../http/problem.ts";
import type { MemoryBudget } from "../../work/memory_budget.ts";
import type { ReceivedBody } from "./received_body.ts";
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

/** What all requests share. */
export interface SingleEventContext<Kind> {
  options: AnswerOptions;
  singles: SingleEvents;
  /** Answers a short body that is something else, and counts it and its time. */
  answerShort(from: SingleEventRequest<Kind>, body: ReceivedBody): Promise<Response>;
}

/** `Kind`: what its path says of the body. */
export class SingleEventRequest<Kind> implements Receiver, CommitWaiter, TakenEvent {
  looksLeft = 0;
  msMax = 0;
  project_id = 0;
  historical_migration = false;
  readonly request: Request;
  readonly kind: Kind;
  /** Bytes of its body, which were acquired: given back when it is answered. */
  readonly announced: number;
  /** By the clock's elapsed(). */
  readonly started: number;
  readonly #context: SingleEventContext<Kind>;
  readonly #answer: (response: Response | Promise<Response>) => void;

  constructor(
    request: Request,
    kind: Kind,
    announced: number,
    started: number,
    context: SingleEventContext<Kind>,
    answer: (response: Response | Promise<Response>) => void,
  ) {
    this.request = request;
    this.kind = kind;
    this.announced = announced;
    this.started = started;
    this.#context = context;
    this.#answer = answer;
  }

  arrived(body: Uint8Array): void {
    const { options, singles } = this.#context;
    try {
      const lane = options.ack === "journal" ? singles.take(body, this) : undefined;
      if (lane) lane.join(this);
      else this.#answer(this.#context.answerShort(this, singles.received(body)));
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  late(fault: Fault): void {
    this.#refuse(fault);
  }

  kept(): void {
    const { project_id, historical_migration } = this;
    const { options } = this.#context;
    try {
      options.counts.received(1);
      options.counts.accepted(historical_migration ? "historical" : "live", 1);
      if (!historical_migration) options.book.count(project_id, 1);
      this.#end(usualReply(this.request));
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  refused(fault: Fault): void {
    this.#refuse(fault);
  }

  #refuse(thrown: unknown): void {
    this.#end(captureRefusal(thrown, this.request, this.#context.options));
  }

  #end(response: Response): void {
    const { options } = this.#context;
    options.memory.releaseShort(this.announced);
    this.#answer(response);
    options.seconds((options.clock.elapsed() - this.started) / 1000);
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
