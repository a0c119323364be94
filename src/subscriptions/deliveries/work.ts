// The work beside requests: what falls due becomes deliveries, and deliveries are attempted, a few at a time.
// Several processes share it; never two of them at one delivery.

import { deliveryLimits } from "./limits.ts";
import { limits } from "../../core/limits.ts";
import { subscriptionLimits } from "../limits.ts";
import { reasonOf } from "../../core/log.ts";
import { FairShare } from "../../work/fair_share.ts";
import { every, type Ticking } from "../../work/tick.ts";
import { nextOccurrence } from "../schedule.ts";
import { attempt, type AttemptParts } from "./attempt.ts";
import {
  claimDeliveries,
  type ClaimedDelivery,
  dueDeliveries,
  type DueSubscription,
  type End,
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
  const places = new FairShare(deliveryLimits.deliveriesAtOnceMax, limits.waitingShare);
  let heldAt = clock.now();
  const whole: AttemptParts = { ...parts, isClosing: () => closing };

  /** Tried again when the store fails, at last without the words that may be its fault. */
  const writeEnd = async (delivery: ClaimedDelivery, end: End): Promise<boolean> => {
    for (let tried = 1; ; tried++) {
      const last = tried === deliveryLimits.deliveryEndTriesMax;
      try {
        return await endAttempt(sql, delivery, last ? withoutWords(end) : end, new Date(clock.now()));
      } catch (thrown) {
        if (last) throw thrown;
        log.warn("a delivery's end could not be written and is tried again", {
          delivery_id: delivery.id,
          reason: reasonOf(thrown),
        });
        await Bun.sleep(deliveryLimits.deliveryEndRetryMs * tried);
      }
    }
  };

  const one = async (delivery: ClaimedDelivery): Promise<void> => {
    const started = clock.elapsed();
    const end = await attempt(whole, delivery);
    if (end.status === "stopped") return await releaseDelivery(sql, delivery, end.recipients);
    if (end.status === "lost") {
      log.warn("a delivery was taken over by another process", { delivery_id: delivery.id });
      return;
    }
    const disabled = await writeEnd(delivery, end);
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
        places.leave(delivery.project_id);
        if (!closing) fill().catch(() => undefined);
      });
    running.set(mine, delivery);
  };

  /** Begins as many as there are places for, shared out by project; false when there was nothing to begin. */
  const beginSome = async (): Promise<boolean> => {
    const now = clock.now();
    const due = await dueDeliveries(sql, new Date(now), places.free);
    const wanted = places.takeFor(due.map(({ id, project_id }) => ({ id, owner: project_id })));
    if (wanted.length === 0) return false;
    const claimed = new Map<number, ClaimedDelivery>();
    try {
      const until = new Date(now + deliveryLimits.deliveryClaimMs);
      const claim = { now: new Date(now), until, ids: wanted.map(({ id }) => id) };
      for (const delivery of await claimDeliveries(sql, claim)) claimed.set(delivery.id, delivery);
    } finally {
      for (const { id, owner } of wanted) if (!claimed.has(id)) places.leave(owner);
    }
    for (const delivery of claimed.values()) begin(delivery);
    return true;
  };

  /** Takes as many as there is room for; asked again when one ends. */
  const fill = async (): Promise<void> => {
    if (filling) return await filling;
    const work = async (): Promise<void> => {
      for (let look = 0; look < limits.claimLooksMax && !closing && places.free > 0; look++) {
        if (!(await beginSome())) return;
      }
    };
    filling = work().finally(() => {
      filling = undefined;
    });
    await filling;
  };

  const hold = async (): Promise<void> => {
    const now = clock.now();
    if (now - heldAt < deliveryLimits.deliveryClaimMs / 4) return;
    heldAt = now;
    const until = new Date(now + deliveryLimits.deliveryClaimMs);
    if (running.size > 0) await holdClaims(sql, [...running.values()], new Date(now), until);
  };

  const look = async (): Promise<void> => {
    await hold();
    let taken: number = deliveryLimits.dueAtOnceMax;
    while (!closing && taken === deliveryLimits.dueAtOnceMax) {
      const now = clock.now();
      taken = await takeDue(sql, new Date(now), (due) => following(due, now));
    }
    await fill();
  };

  return {
    look,
    start: () => {
      ticking ??= every(deliveryLimits.deliveryLookMs, "looking for subscriptions that are due", look, log);
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

/** What became of everybody, and not why. */
function withoutWords(end: End): End {
  const unstorable = "The delivery failed, and why could not be stored.";
  const recipients = Object.entries(end.recipients).map(([target, one]) => {
    return [target, one.error === undefined ? one : { ...one, error: unstorable }] as const;
  });
  return { ...end, error: end.error && unstorable, recipients: Object.fromEntries(recipients) };
}

/** Dates that passed while nobody looked are not made up for: the next one is to come. */
function following(due: DueSubscription, now: number): Date | null {
  const from = Math.max(due.next_delivery_date.getTime(), now + subscriptionLimits.deliveryLeadMs);
  const next = nextOccurrence(due, from);
  return next === undefined ? null : new Date(next);
}
