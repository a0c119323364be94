// The worker of deliveries: due subscriptions become deliveries, and deliveries are attempted, a few at a time. Several
// processes share the work; a claim keeps each delivery to one of them.

import type { Metrics } from "../../http/metrics/metrics.ts";
import { type Lease, LeaseQueue } from "../../storage/postgres/lease_queue.ts";
import { subscriptionLimits } from "../limits.ts";
import { nextDate } from "../schedule.ts";
import { attemptDelivery, type AttemptParts } from "./attempt.ts";
import * as store from "./store.ts";

export function openDeliveryWork(parts: AttemptParts, metrics: Metrics) {
  const counts = deliveryCounts(metrics);
  const { sql, clock } = parts;
  return new LeaseQueue<store.ClaimedDelivery>({
    ...parts,
    atOnceMax: subscriptionLimits.deliveriesAtOnceMax,
    pollMs: subscriptionLimits.deliveryPollMs,
    leaseMs: subscriptionLimits.deliveryClaimMs,
    beatMs: subscriptionLimits.deliveryClaimMs / 4,
    name: "deliveries of subscriptions",
    rows: (now) => store.leasedDeliveries(sql, now),
    prepare: async () => {
      const enqueue = (now: number) =>
        store.enqueueDue(sql, new Date(now), (due) => nextDate(due, now, due.next_delivery_date.getTime()));
      while ((await enqueue(clock.now())) === subscriptionLimits.dueAtOnceMax);
    },
    attempt: (delivery, lease) => runAttempt(parts, counts, delivery, lease),
  });
}

function deliveryCounts({ registry }: Metrics) {
  const ended = registry.counters<string>(
    "sluice_subscription_deliveries_total",
    "Attempts at deliveries that ended, by their result.",
    "status",
    ["delivered", "retrying", "failed"],
  );
  const seconds = registry.histogram(
    "sluice_subscription_delivery_seconds",
    "Time of one attempt: reading, drawing and sending.",
    [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  );
  const disabled = registry.counter(
    "sluice_subscriptions_disabled_total",
    "Subscriptions disabled after consecutive failures.",
  );
  return { ended, seconds, disabled };
}

async function runAttempt(
  parts: AttemptParts,
  counts: ReturnType<typeof deliveryCounts>,
  delivery: store.ClaimedDelivery,
  lease: Lease,
): Promise<void> {
  const { sql, clock, log } = parts;
  const started = clock.elapsed();
  const end = await attemptDelivery(parts, delivery, lease.signal);
  if (end.status === "stopped") return await store.releaseDelivery(sql, delivery, end.recipients);
  if (end.status === "lost") {
    log.warn("a delivery was taken over by another process", { delivery_id: delivery.id });
    return;
  }
  const disabled = await lease.end((bare) =>
    store.endAttempt(sql, delivery, bare ? withoutErrorTexts(end) : end, new Date(clock.now())),
  );
  counts.ended.of(end.status).add();
  counts.seconds.observe((clock.elapsed() - started) / 1000);
  if (disabled) counts.disabled.add();
  if (end.status !== "failed" && !disabled) return;
  const { subscription_id, alert_id, project_id } = delivery;
  const about = alert_id ? { alert_id } : { subscription_id };
  log.warn("a subscription was not delivered", { ...about, project_id, disabled, reason: end.error });
}

function withoutErrorTexts(end: store.DeliveryResult): store.DeliveryResult {
  const unstorable = "The delivery failed, and why could not be stored.";
  const recipients = Object.entries(end.recipients).map(([target, item]) => {
    return [target, item.error === undefined ? item : { ...item, error: unstorable }] as const;
  });
  return { ...end, error: end.error && unstorable, recipients: Object.fromEntries(recipients) };
}
