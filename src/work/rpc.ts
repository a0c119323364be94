// Messages and calls between two processes over a pipe, one line of JSON each. Every call ends: with an answer, an
// error, or a time-out.

import { withinMs } from "../core/deadline.ts";
import { workLimits } from "./limits.ts";
import { reasonOf } from "../core/log.ts";

/** Handlers by kind: each takes the content and returns the answer to a call. */
export type Answers = Readonly<Record<string, (content: never) => unknown>>;

export interface Rpc {
  /** Sends a message without an answer. */
  tell(kind: string, content?: unknown): void;
  /**
   * Calls the other side. @throws its error as text and code; or when it does not answer within `msMax`, or is gone.
   */
  ask(kind: string, content?: unknown, msMax?: number): Promise<unknown>;
  /** Takes a line from the other side; a line that is not a message is ignored. */
  take(line: string): void;
  /** The other side is gone: all open calls are rejected. */
  end(): void;
}

interface Message {
  /** The kind of a message or call; an answer has none. */
  kind?: string;
  /** The number of a call, and of its answer. */
  id?: number;
  content?: unknown;
  /** The error in place of an answer, and its code. */
  failure?: string;
  code?: unknown;
}

/** `write` takes one line without its newline. */
export function openRpc(write: (line: string) => void, answers: Answers): Rpc {
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let ended = false;

  const send = (message: Message): void => {
    if (!ended) write(JSON.stringify(message));
  };

  const answer = async ({ kind = "", id, content }: Message): Promise<void> => {
    try {
      const given = await answers[kind]?.(content as never);
      if (id !== undefined) send({ id, content: given });
    } catch (thrown) {
      const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
      if (id !== undefined) send({ id, failure: reasonOf(thrown), code });
    }
  };

  const settle = ({ id = 0, content, failure, code }: Message): void => {
    const waiting = calls.get(id);
    calls.delete(id);
    if (failure === undefined) waiting?.resolve(content);
    else waiting?.reject(Object.assign(new Error(failure), { code }));
  };

  return {
    tell: (kind, content) => send({ kind, content }),
    ask: async (kind, content, msMax = workLimits.linkMsMax) => {
      if (ended) throw new Error("the other process is gone");
      if (calls.size >= workLimits.linkAsksMax) throw new Error("too much is asked of the other process");
      const id = ++lastId;
      const waiting = Promise.withResolvers<unknown>();
      calls.set(id, waiting);
      try {
        send({ kind, id, content });
        return await withinMs(waiting.promise, msMax);
      } finally {
        calls.delete(id);
      }
    },
    take: (line) => {
      const message = messageOf(line);
      if (message?.kind !== undefined) void answer(message);
      else if (message) settle(message);
    },
    end: () => {
      ended = true;
      for (const waiting of calls.values()) waiting.reject(new Error("the other process is gone"));
    },
  };
}

function messageOf(line: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}
