// A link: what two processes tell and ask each other over a pipe, one line of JSON each. Never waits for ever, and
// never throws at the end of a pipe: whoever asked is told.

import { withinMs } from "../core/deadline.ts";
import { workLimits } from "./limits.ts";
import { reasonOf } from "../core/log.ts";

/** By the kind of what is told or asked: takes its content, returns the answer to what was asked. */
export type Answers = Readonly<Record<string, (content: never) => unknown>>;

export interface Rpc {
  /** Says something that nobody answers. */
  tell(kind: string, content?: unknown): void;
  /** @throws what the other side threw, as text and code; or when it is silent for `msMax`, or gone. */
  ask(kind: string, content?: unknown, msMax?: number): Promise<unknown>;
  /** Takes a line of the other side's; one that is none of a link is passed over. */
  take(line: string): void;
  /** The other side is gone: nobody who asked waits any longer. */
  end(): void;
}

interface Message {
  /** Of what is told or asked; an answer has none. */
  kind?: string;
  /** Of what is asked, and of its answer. */
  id?: number;
  content?: unknown;
  /** Why there is no answer, and the code of it. */
  failure?: string;
  code?: unknown;
}

/** `write` takes one line without its newline. */
export function openRpc(write: (line: string) => void, answers: Answers): Rpc {
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
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
    const waiting = asked.get(id);
    asked.delete(id);
    if (failure === undefined) waiting?.resolve(content);
    else waiting?.reject(Object.assign(new Error(failure), { code }));
  };

  return {
    tell: (kind, content) => send({ kind, content }),
    ask: async (kind, content, msMax = workLimits.linkMsMax) => {
      if (ended) throw new Error("the other process is gone");
      if (asked.size >= workLimits.linkAsksMax) throw new Error("too much is asked of the other process");
      const id = ++lastId;
      const waiting = Promise.withResolvers<unknown>();
      asked.set(id, waiting);
      try {
        send({ kind, id, content });
        return await withinMs(waiting.promise, msMax);
      } finally {
        asked.delete(id);
      }
    },
    take: (line) => {
      const message = messageOf(line);
      if (message?.kind !== undefined) void answer(message);
      else if (message) settle(message);
    },
    end: () => {
      ended = true;
      for (const waiting of asked.values()) waiting.reject(new Error("the other process is gone"));
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
