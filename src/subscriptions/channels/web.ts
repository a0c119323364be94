// Posts JSON to a user's URL. It connects to the address that was checked, follows no redirects, and reads only the
// beginning of the answer.

import type { Addresses } from "../../access/address.ts";
import { type ForeignAnswer, isPassing, NoAnswer, postTo } from "../../access/post.ts";
import { toReason } from "../../core/log.ts";
import { subscriptionLimits } from "../limits.ts";
import { DeliveryError } from "./delivery_error.ts";

export type Web = ReturnType<typeof openWeb>;

export function openWeb(addresses: Addresses) {
  return {
    /**
     * Resolves when the receiver answered with a 2xx status.
     * @param idempotencyKey does not change between attempts at one delivery.
     * @throws DeliveryError
     */
    send: async ({ url, body, idempotencyKey }: { url: URL; body: object; idempotencyKey: string }) => {
      const address = await addresses.connectable(url.hostname).catch((thrown: unknown) => {
        throw new DeliveryError(toReason(thrown), "again", "target");
      });
      const headers = {
        "content-type": "application/json",
        "user-agent": "Sluice",
        "idempotency-key": idempotencyKey,
      };
      const options = { headers, msMax: subscriptionLimits.webhookMsMax };
      const sent = postTo(url, address, Buffer.from(JSON.stringify(body)), options);
      const answer = await sent.catch((thrown: unknown) => throwSilence(url, thrown));
      if (answer.status < 200 || answer.status >= 300) throw refusal(url, answer);
    },
  };
}

/** Once connected, the receiver may have read the message. */
function throwSilence(url: URL, thrown: unknown): never {
  const message = `${url.host}: ${toReason(thrown)}`;
  if (thrown instanceof NoAnswer && !thrown.connected) throw new DeliveryError(message, "again", "target");
  throw new DeliveryError(`${message}; it may have arrived, so it is not sent again`, "doubt", "target");
}

/** The error for a status other than 2xx. Each of them means that the message was not accepted. */
function refusal(url: URL, answer: ForeignAnswer): DeliveryError {
  const { status, text } = answer;
  if (status >= 300 && status < 400) {
    const detail = `${url.host} answered ${status}; redirects are not followed.`;
    return new DeliveryError(detail, "refused", "target");
  }
  const message = `${url.host} answered ${status}${text.trim() && `: ${text.trim()}`}`;
  return new DeliveryError(message, isPassing(answer) ? "again" : "refused", "target");
}
