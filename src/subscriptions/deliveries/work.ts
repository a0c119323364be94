// The worker of deliveries: due subscriptions become deliveries, and deliveries are attempted, a few at a time. Several
// processes share the work; a claim keeps each delivery to one of them.

import { limits } from "../../core/limits.ts";
import { reasonOf } from "../../core/log.ts";
import { FairShare } from "../../work/fair_share.ts";
import { every, type Ticking } from "../../work/tick.ts";
import { subscriptionLimits } from "../limits.ts";
import { nextOccurrence } from "../schedule.ts";
import { attemptDelivery, type AttemptParts } from "./attempt.ts";
import {
  claimDeliveries,
  type ClaimedDelivery,
  dueDeliveries,
  type DueSubscription,
  type AttemptEnd,
  endAttempt,
  extendClaims,
  releaseDelivery,
  enqueueDue,
} from "./store.ts";

export interface DeliveryCounts {
  /** `status`: delivered, failed or retrying. */
  ended(status: string, seconds: number): void;
  disabled(): void;
}

export interface DeliveryWork {
  start(): void;
  /** Starts nothing new; resolves when the attempts that run have ended. */
  close(): Promise<void>;
  /** Turns due subscriptions into deliveries, and starts as many attempts as there is room for. */
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
  const share = new FairShare(subscriptionLimits.deliveriesAtOnceMax, limits.waitingShare);
  let extendedAt = clock.now();
  const whole: AttemptParts = { ...parts, isClosing: () => closing };

  const start = (delivery: ClaimedDelivery): void => {
    const mine = runAttempt(whole, counts, delivery)
      .catch((thrown: unknown) => {
        // The claim expires, and a process continues from what was stored.
        const reason = reasonOf(thrown);
        log.warn("an attempt at a delivery was interrupted", { delivery_id: delivery.id, reason });
      })
      .finally(() => {
        running.delete(mine);
        share.leave(delivery.project_id);
        if (!closing) fill().catch(() => undefined);
      });
    running.set(mine, delivery);
  };

  /** Starts attempts until there is no room or nothing due; called again when one ends. */
  const fill = async (): Promise<void> => {
    const work = async (): Promise<void> => {
      for (let look = 0; look < limits.claimLooksMax && !closing && share.free > 0; look++) {
        const claimed = await claimDue(parts, share);
        if (!claimed) return;
        claimed.forEach(start);
      }
    };
    filling ??= work().finally(() => (filling = undefined));
    await filling;
  };

  const look = async (): Promise<void> => {
    const now = clock.now();
    if (running.size > 0 && now - extendedAt >= claimMs / 4) {
      extendedAt = now;
      await extendClaims(sql, [...running.values()], new Date(now), new Date(now + claimMs));
    }
    for (let taken: number = dueAtOnceMax; !closing && taken === dueAtOnceMax;) {
      const at = clock.now();
      taken = await enqueueDue(sql, new Date(at), (due) => nextDate(due, at));
    }
    await fill();
  };

  return {
    look,
    start: () => {
      const name = "looking for subscriptions that are due";
      ticking ??= every(subscriptionLimits.deliveryLookMs, name, look, log);
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

const { deliveryClaimMs: claimMs, dueAtOnceMax } = subscriptionLimits;

/** Claims as many deliveries as there is room for, shared among projects; undefined when nothing was due. */
async function claimDue(
  { sql, clock }: Pick<AttemptParts, "sql" | "clock">,
  share: FairShare,
): Promise<ClaimedDelivery[] | undefined> {
  const now = clock.now();
  const due = await dueDeliveries(sql, new Date(now), share.free);
  const wanted = share.takeFor(due.map(({ id, project_id }) => ({ id, owner: project_id })));
  if (wanted.length === 0) return undefined;
  let claimed: ClaimedDelivery[] = [];
  try {
    const until = new Date(now + claimMs);
    const ids = wanted.map(({ id }) => id);
    claimed = await claimDeliveries(sql, { now: new Date(now), until, ids });
    return claimed;
  } finally {
    const mine = new Set(claimed.map(({ id }) => id));
    for (const { id, owner } of wanted) if (!mine.has(id)) share.leave(owner);
  }
}

/** Runs one attempt, stores its end, and counts it. */
async function runAttempt(
  parts: AttemptParts,
  counts: DeliveryCounts,
  delivery: ClaimedDelivery,
): Promise<void> {
  const { sql, clock, log } = parts;
  const started = clock.elapsed();
  const end = await attemptDelivery(parts, delivery);
  if (end.status === "stopped") return await releaseDelivery(sql, delivery, end.recipients);
  if (end.status === "lost") {
    log.warn("a delivery was taken over by another process", { delivery_id: delivery.id });
    return;
  }
  const disabled = await storeEnd(parts, delivery, end);
  counts.ended(end.status, (clock.elapsed() - started) / 1000);
  if (disabled) counts.disabled();
  if (end.status === "failed" || disabled) {
    const { subscription_id, project_id } = delivery;
    const reason = end.error;
    log.warn("a subscription was not delivered", { subscription_id, project_id, disabled, reason });
  }
}

/** Retries when the store fails; the last try leaves out error texts, which may be what it cannot store. */
async function storeEnd(
  { sql, clock, log }: AttemptParts,
  delivery: ClaimedDelivery,
  end: AttemptEnd,
): Promise<boolean> {
  for (let tried = 1; ; tried++) {
    const last = tried === subscriptionLimits.deliveryEndTriesMax;
    try {
      return await endAttempt(sql, delivery, last ? withoutErrorTexts(end) : end, new Date(clock.now()));
    } catch (thrown) {
      if (last) throw thrown;
      log.warn("a delivery's end could not be written and is tried again", {
        delivery_id: delivery.id,
        reason: reasonOf(thrown),
      });
      await Bun.sleep(subscriptionLimits.deliveryEndRetryMs * tried);
    }
  }
}

function withoutErrorTexts(end: AttemptEnd): AttemptEnd {
  const unstorable = "The delivery failed, and why could not be stored.";
  const recipients = Object.entries(end.recipients).map(([target, one]) => {
    return [target, one.error === undefined ? one : { ...one, error: unstorable }] as const;
  });
  return { ...end, error: end.error && unstorable, recipients: Object.fromEntries(recipients) };
}

/** The next date after now: dates that were missed while no server ran are skipped. */
function nextDate(due: DueSubscription, now: number): Date | null {
  const from = Math.max(due.next_delivery_date.getTime(), now + subscriptionLimits.deliveryLeadMs);
  const next = nextOccurrence(due, from);
  return next === undefined ? null : new Date(next);
}
