// Messages and calls between two processes. Every call ends: with an answer, an error, or a time-out.

import { withinMs } from "../core/clock.ts";
import { toReason } from "../core/log.ts";
import { workLimits } from "./limits.ts";

/** Handlers by kind: each gets the content and returns the answer to a call. */
export type Answers = Readonly<Record<string, (content: never) => unknown>>;

export type Rpc = ReturnType<typeof openRpc>;

export interface RpcMessage {
  /** The kind of a message or call; an answer has none. */
  kind?: string;
  /** The number of a call, and of its answer. */
  id?: number;
  content?: unknown;
  /** The error instead of an answer, and its code. */
  failure?: string;
  code?: unknown;
}

/** `write` hands one message to the other process; what it throws is ignored, as that process has ended. */
export function openRpc(write: (message: RpcMessage) => void, answers: Answers) {
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let ended = false;

  const send = (message: RpcMessage): void => {
    try {
      if (!ended) write(message);
    } catch {
      // end() follows.
    }
  };

  const answer = async ({ kind = "", id, content }: RpcMessage): Promise<void> => {
    try {
      const answer = await answers[kind]?.(content as never);
      if (id !== undefined) send({ id, content: answer });
    } catch (thrown) {
      const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
      if (id !== undefined) send({ id, failure: toReason(thrown), code });
    }
  };

  const settle = ({ id = 0, content, failure, code }: RpcMessage): void => {
    const waiting = calls.get(id);
    calls.delete(id);
    if (failure === undefined) waiting?.resolve(content);
    else waiting?.reject(Object.assign(new Error(failure), { code }));
  };

  return {
    /** Sends a message without an answer. */
    send: (kind: string, content?: unknown): void => send({ kind, content }),
    /**
     * Calls the other side. @throws its error as text and code; or when it does not answer within `msMax`, or is gone.
     */
    request: async (kind: string, content?: unknown, msMax = workLimits.linkMsMax): Promise<unknown> => {
      if (ended) throw new Error("the other process is gone");
      if (calls.size >= workLimits.linkAsksMax) throw new Error("too many calls to the other process wait");
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
    /** Handles a message from the other side. */
    receive: (message: RpcMessage) => void (message.kind === undefined ? settle(message) : answer(message)),
    /** The other side is gone: all open calls are rejected. */
    end: () => {
      ended = true;
      for (const waiting of calls.values()) waiting.reject(new Error("the other process is gone"));
    },
  };
}
