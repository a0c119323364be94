// The worker of deliveries: due subscriptions become deliveries, and deliveries are attempted, a few at a time. Several
// processes share the work; a claim keeps each delivery to one of them.

import { type Lease, LeaseQueue } from "../../storage/postgres/lease_queue.ts";
import { subscriptionLimits } from "../limits.ts";
import { nextOccurrence } from "../schedule.ts";
import { attemptDelivery, type AttemptParts } from "./attempt.ts";
import {
  type AttemptEnd,
  type ClaimedDelivery,
  type DueSubscription,
  endAttempt,
  enqueueDue,
  leasedDeliveries,
  releaseDelivery,
} from "./store.ts";

export interface DeliveryCounts {
  /** `status`: delivered, failed or retrying. */
  ended(status: string, seconds: number): void;
  disabled(): void;
}

export type DeliveryWork = Pick<LeaseQueue<ClaimedDelivery>, "start" | "close" | "look" | "rest">;

export function openDeliveryWork(parts: AttemptParts, counts: DeliveryCounts): DeliveryWork {
  const { sql, clock } = parts;
  return new LeaseQueue<ClaimedDelivery>({
    ...parts,
    atOnceMax: subscriptionLimits.deliveriesAtOnceMax,
    lookMs: subscriptionLimits.deliveryLookMs,
    leaseMs: subscriptionLimits.deliveryClaimMs,
    beatMs: subscriptionLimits.deliveryClaimMs / 4,
    name: "deliveries of subscriptions",
    rows: leasedDeliveries,
    prepare: async () => {
      for (let taken: number = dueAtOnceMax; taken === dueAtOnceMax;) {
        const now = clock.now();
        taken = await enqueueDue(sql, new Date(now), (due) => nextDate(due, now));
      }
    },
    attempt: (delivery, lease) => runAttempt(parts, counts, delivery, lease),
  });
}

const { dueAtOnceMax } = subscriptionLimits;

/** Runs one attempt, stores its end, and counts it. */
async function runAttempt(
  parts: AttemptParts,
  counts: DeliveryCounts,
  delivery: ClaimedDelivery,
  lease: Lease,
): Promise<void> {
  const { sql, clock, log } = parts;
  const started = clock.elapsed();
  const end = await attemptDelivery(parts, delivery, lease.signal);
  if (end.status === "stopped") return await releaseDelivery(sql, delivery, end.recipients);
  if (end.status === "lost") {
    log.warn("a delivery was taken over by another process", { delivery_id: delivery.id });
    return;
  }
  const disabled = await lease.end((bare) =>
    endAttempt(sql, delivery, bare ? withoutErrorTexts(end) : end, new Date(clock.now())),
  );
  counts.ended(end.status, (clock.elapsed() - started) / 1000);
  if (disabled) counts.disabled();
  if (end.status === "failed" || disabled) {
    const { subscription_id, project_id } = delivery;
    const reason = end.error;
    log.warn("a subscription was not delivered", { subscription_id, project_id, disabled, reason });
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
