// Opens the parts of subscriptions: channels, pictures, links and the worker of deliveries.

import type { Addresses } from "../access/address.ts";
import type { Secrets } from "../access/secret.ts";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { openThrottle } from "../work/throttle.ts";
import { Semaphore } from "../work/semaphore.ts";
import { openMail } from "./channels/smtp.ts";
import { openWeb } from "./channels/web.ts";
import { sharedReader } from "./deliveries/reading.ts";
import { type DeliveryCounts, type DeliveryWork, openDeliveryWork } from "./deliveries/work.ts";
import { subscriptionLimits } from "./limits.ts";
import { type Links, openLinks } from "./links/links.ts";
import { openPictures, type Pictures } from "./report/png.ts";
import type { ReportReader } from "./report/report.ts";

interface SubscriptionOptions {
  sql: Postgres;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  addresses: Addresses;
  secrets: Secrets;
  reader: ReportReader;
  smtpUrl: string | undefined;
  emailFrom: string | undefined;
  /** The URL at which recipients reach this server. */
  siteUrl: () => string;
}

export interface OpenedSubscriptions extends Pick<DeliveryWork, "start" | "close" | "look" | "rest"> {
  links: Links;
  pictures: Pictures;
}

export function openSubscriptions(options: SubscriptionOptions): OpenedSubscriptions {
  const { sql, clock, log, addresses, secrets, siteUrl } = options;
  const mail = openMail({ smtpUrl: options.smtpUrl, from: options.emailFrom });
  const semaphore = new Semaphore(
    subscriptionLimits.deliveryReadsMax,
    subscriptionLimits.deliveryReadsWaitingMax,
    limits.waitingShare,
  );
  const pictures = openPictures(semaphore);
  const links = openLinks({ secrets, clock, siteUrl });
  const reader = sharedReader(options.reader, semaphore, clock);
  const web = openWeb(addresses);
  const throttle = openThrottle(subscriptionLimits.emailGapMs);
  const counts = deliveryCounts(options.metrics);
  const work = openDeliveryWork({ sql, clock, log, reader, pictures, links, mail, web, throttle }, counts);
  return {
    start: () => work.start(),
    look: () => work.look(),
    rest: () => work.rest(),
    links,
    pictures,
    close: async () => {
      await work.close();
      mail.close();
      pictures.close();
    },
  };
}

function deliveryCounts({ registry }: Metrics): DeliveryCounts {
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
  return {
    ended: (status, took) => {
      ended.of(status).add();
      seconds.observe(took);
    },
    disabled: () => disabled.add(),
  };
}
