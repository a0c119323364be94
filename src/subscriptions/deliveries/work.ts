// The work beside requests: what falls due becomes deliveries, and deliveries are attempted, a few at a time.
// Several processes share it; never two of them at one delivery.

import { limits } from "../../core/limits.ts";
import { reasonOf } from "../../core/log.ts";
import { every, type Ticking } from "../../work/tick.ts";
import { nextOccurrence } from "../schedule.ts";
import { attempt, type AttemptParts } from "./attempt.ts";
import {
  claimDeliveries,
  type ClaimedDelivery,
  type DueSubscription,
  endAttempt,
  holdClaims,
  releaseDelivery,
  takeDue,
} from "./store.ts";

export interface DeliveryCounts {
  /** delivered, failed or retrying. */
  ended(status: string, seconds: number): void;
  disabled(): void;
}

export interface DeliveryWork {
  start(): void;
  /** Begins nothing further; resolves when what was being sent has its end. */
  close(): Promise<void>;
  /** Takes what is due and begins as many attempts as there is room for. */
  look(): Promise<void>;
  /** Resolves when no attempt runs. */
  rest(): Promise<void>;
}

export function openDeliveryWork(
  parts: Omit<AttemptParts, "isClosing">,
  counts: DeliveryCounts,
): DeliveryWork {
  const { sql, clock, log } = parts;
  let closing = false;
  let ticking: Ticking | undefined;
  let filling: Promise<void> | undefined;
  const running = new Map<Promise<void>, ClaimedDelivery>();
  let heldAt = clock.now();
  const whole: AttemptParts = { ...parts, isClosing: () => closing };

  const one = async (delivery: ClaimedDelivery): Promise<void> => {
    const started = clock.elapsed();
    const end = await attempt(whole, delivery);
    if (end.status === "stopped") return await releaseDelivery(sql, delivery, end.recipients);
    if (end.status === "lost") {
      log.warn("a delivery was taken over by another process", { delivery_id: delivery.id });
      return;
    }
    const disabled = await endAttempt(sql, delivery, end, new Date(clock.now()));
    counts.ended(end.status, (clock.elapsed() - started) / 1000);
    if (disabled) counts.disabled();
    if (end.status === "failed" || disabled) {
      const { subscription_id, project_id } = delivery;
      log.warn("a subscription was not delivered", {
        subscription_id,
        project_id,
        disabled,
        reason: end.error,
      });
    }
  };

  const begin = (delivery: ClaimedDelivery): void => {
    const mine = one(delivery)
      .catch((thrown: unknown) => {
        // Its claim runs out, and somebody goes on from what is written.
        log.warn("an attempt at a delivery broke off", {
          delivery_id: delivery.id,
          reason: reasonOf(thrown),
        });
      })
      .finally(() => {
        running.delete(mine);
        if (!closing) fill().catch(() => undefined);
      });
    running.set(mine, delivery);
  };

  /** Takes as many as there is room for; asked again when one ends. */
  const fill = async (): Promise<void> => {
    if (filling) return await filling;
    const work = async (): Promise<void> => {
      while (!closing && running.size < limits.deliveriesAtOnceMax) {
        const now = clock.now();
        const count = limits.deliveriesAtOnceMax - running.size;
        const until = new Date(now + limits.deliveryClaimMs);
        const claimed = await claimDeliveries(sql, { now: new Date(now), until, count });
        for (const delivery of claimed) begin(delivery);
        if (claimed.length < count) return;
      }
    };
    filling = work().finally(() => {
      filling = undefined;
    });
    await filling;
  };

  const hold = async (): Promise<void> => {
    const now = clock.now();
    if (now - heldAt < limits.deliveryClaimMs / 4) return;
    heldAt = now;
    const until = new Date(now + limits.deliveryClaimMs);
    if (running.size > 0) await holdClaims(sql, [...running.values()], new Date(now), until);
  };

  const look = async (): Promise<void> => {
    await hold();
    let taken: number = limits.dueAtOnceMax;
    while (!closing && taken === limits.dueAtOnceMax) {
      const now = clock.now();
      taken = await takeDue(sql, new Date(now), (due) => following(due, now));
    }
    await fill();
  };

  return {
    look,
    start: () => {
      ticking ??= every(limits.deliveryLookMs, "looking for subscriptions that are due", look, log);
    },
    rest: async () => {
      while (running.size > 0 || filling) await Promise.all([...running.keys(), filling]);
    },
    close: async () => {
      closing = true;
      await ticking?.close();
      await filling?.catch(() => undefined);
      await Promise.all(running.keys());
    },
  };
}

/** Dates that passed while nobody looked are not made up for: the next one is to come. */
function following(due: DueSubscription, now: number): Date | null {
  const from = Math.max(due.next_delivery_date.getTime(), now + limits.deliveryLeadMs);
  const next = nextOccurrence(due, from);
  return next === undefined ? null : new Date(next);
}
