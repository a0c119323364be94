// Posts JSON to a URL that a user gave. It connects to the address that was checked, follows no redirects, and reads
// only the beginning of the answer.

import { request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { isIP } from "node:net";
import type { Addresses } from "../../access/address.ts";
import { reasonOf } from "../../core/log.ts";
import { DeliveryError } from "./delivery_error.ts";
import { channelLimits } from "./limits.ts";

interface WebMessage {
  url: URL;
  body: Record<string, unknown>;
  /** The same in every attempt at one delivery. */
  idempotencyKey: string;
}

export interface Web {
  /**
   * Resolves when the receiver answered with a 2xx status.
   * @throws DeliveryError
   */
  send(message: WebMessage): Promise<void>;
}

export function openWeb(addresses: Addresses): Web {
  return {
    send: async ({ url, body, idempotencyKey }) => {
      let address: string;
      try {
        address = await addresses.connectable(url.hostname);
      } catch (thrown) {
        throw new DeliveryError(reasonOf(thrown), "again", "target");
      }
      const { status, text } = await post(url, address, Buffer.from(JSON.stringify(body)), idempotencyKey);
      if (status >= 200 && status < 300) return;
      throw refusal(url, status, text);
    },
  };
}

/** The error for a status other than 2xx. Each of them means that the message was not accepted. */
function refusal(url: URL, status: number, text: string): DeliveryError {
  const detail = text.trim() ? `: ${text.trim()}` : "";
  if (status >= 300 && status < 400) {
    return new DeliveryError(
      `${url.host} answered ${status}; redirects are not followed.`,
      "refused",
      "target",
    );
  }
  const again = status >= 500 || status === 408 || status === 425 || status === 429;
  return new DeliveryError(`${url.host} answered ${status}${detail}`, again ? "again" : "refused", "target");
}

interface Answer {
  status: number;
  /** The beginning of the body. */
  text: string;
}

function post(url: URL, address: string, body: Buffer, idempotencyKey: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const deadline = AbortSignal.timeout(channelLimits.webhookMsMax);
  // Once connected, the receiver may have read the message.
  let connected = false;
  const fail = (thrown: unknown): void => {
    const reason = deadline.aborted
      ? `no answer within ${channelLimits.webhookMsMax / 1000} s`
      : reasonOf(thrown);
    const message = `${url.host}: ${reason}`;
    if (!connected) return reject(new DeliveryError(message, "again", "target"));
    reject(new DeliveryError(`${message}; it may have arrived, so it is not sent again`, "doubt", "target"));
  };
  const family = isIP(address);
  const request = (url.protocol === "https:" ? tlsRequest : plainRequest)(url, {
    method: "POST",
    agent: false,
    signal: deadline,
    lookup: (_name, options, found) => {
      if (options.all) found(null, [{ address, family }]);
      else found(null, address, family);
    },
    headers: {
      "content-type": "application/json",
      "content-length": body.length,
      "user-agent": "Sluice",
      "idempotency-key": idempotencyKey,
    },
  });
  request.on("socket", (socket) => {
    const ready = url.protocol === "https:" ? "secureConnect" : "connect";
    socket.once(ready, () => {
      connected = true;
    });
  });
  request.on("error", fail);
  request.on("response", (response) => {
    connected = true;
    const status = response.statusCode ?? 0;
    let text = "";
    const answered = (): void => {
      resolve({ status, text: text.slice(0, channelLimits.answerCharsMax) });
      request.destroy();
    };
    response.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.length > channelLimits.answerCharsMax) answered();
    });
    response.on("end", answered);
    response.on("error", answered);
    response.on("aborted", answered);
  });
  request.end(body);
  return promise;
}
