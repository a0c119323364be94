// One HTTP request to a user's URL, sent to the address that was checked, without redirects. Only the beginning of the
// answer is read.

import { request as plain } from "node:http";
import { request as secure } from "node:https";
import { isIP } from "node:net";
import { toReason } from "../core/log.ts";

/** `text`: the beginning of the body. */
export type ForeignAnswer = { status: number; text: string; header: (name: string) => string | undefined };

/** Whether the same request may be accepted later. */
export function isPassing({ status }: ForeignAnswer): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

export class NoAnswer extends Error {
  /** Whether the receiver may have read the request. */
  readonly connected: boolean;

  constructor(reason: string, connected: boolean) {
    super(reason);
    this.connected = connected;
  }
}

/** Characters of an answer that are read: enough to show an error. */
const answerCharsMax = 300;

/** @param address an address of the URL's host, which was checked. @throws NoAnswer */
export function postTo(
  url: URL,
  address: string,
  body: Uint8Array,
  {
    method = "POST",
    headers,
    msMax,
    abort,
  }: {
    method?: "POST" | "PUT" | "DELETE";
    headers: Record<string, string>;
    msMax: number;
    abort?: AbortSignal;
  },
): Promise<ForeignAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ForeignAnswer>();
  const deadline = AbortSignal.timeout(msMax);
  let connected = false;
  const family = isIP(address);
  const isSecure = url.protocol === "https:";
  const signal = abort ? AbortSignal.any([deadline, abort]) : deadline;
  const request = (isSecure ? secure : plain)(url, {
    method,
    // A kept connection could be to another address.
    agent: false,
    signal,
    lookup: (_name, { all }, found) => {
      if (all) found(null, [{ address, family }]);
      else found(null, address, family);
    },
    headers: { ...headers, "content-length": String(body.length) },
  });
  request.on("socket", (socket) => {
    socket.once(isSecure ? "secureConnect" : "connect", () => void (connected = true));
  });
  const fail = (thrown: unknown): void => {
    const reason = deadline.aborted ? `no answer within ${msMax / 1000} s` : toReason(thrown);
    reject(new NoAnswer(reason, connected));
    request.destroy();
  };
  request.on("error", fail);
  // After a 101 the client neither reads nor reports the signal.
  request.on("upgrade", () => fail("an answer with another protocol"));
  signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  request.on("response", (reply) => {
    let text = "";
    const header = (name: string): string | undefined => [reply.headers[name]].flat()[0];
    const answered = (): void => {
      resolve({ status: reply.statusCode ?? 0, text: text.slice(0, answerCharsMax), header });
      request.destroy();
    };
    reply.setEncoding("utf8");
    reply.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > answerCharsMax) answered();
    });
    for (const event of ["end", "error", "aborted"]) reply.on(event, answered);
  });
  request.end(body);
  return promise;
}
