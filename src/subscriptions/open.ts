// Opens the parts of subscriptions: channels, pictures, links and the workers of deliveries and alerts.

import type { Addresses } from "../access/address.ts";
import type { Secrets } from "../access/secret.ts";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { Uses } from "../storage/services.ts";
import { openRecent } from "../work/maps.ts";
import { Semaphore } from "../work/semaphore.ts";
import { openThrottle } from "../work/throttle.ts";
import { openAlertWork } from "./alerts/work.ts";
import { openMail } from "./channels/smtp.ts";
import { openWeb } from "./channels/web.ts";
import { openDeliveryWork } from "./deliveries/work.ts";
import { subscriptionLimits } from "./limits.ts";
import { openPictures } from "./report/png.ts";
import type { ReportReader } from "./report/report.ts";
import { openLinks } from "./route.ts";

interface SubscriptionOptions extends Uses<"sql" | "clock" | "log"> {
  metrics: Metrics;
  addresses: Addresses;
  secrets: Secrets;
  reader: ReportReader;
  smtpUrl: string | undefined;
  emailFrom: string | undefined;
  /** The URL at which recipients reach this server. */
  siteUrl: () => string;
}

export type OpenedSubscriptions = ReturnType<typeof openSubscriptions>;

export function openSubscriptions(options: SubscriptionOptions) {
  const { sql, clock, log, addresses, secrets, siteUrl } = options;
  const mail = openMail({ smtpUrl: options.smtpUrl, from: options.emailFrom });
  const semaphore = new Semaphore(
    subscriptionLimits.deliveryReadsMax,
    subscriptionLimits.deliveryReadsWaitingMax,
    limits.waitingFreeMultiple,
  );
  const pictures = openPictures(semaphore);
  const links = openLinks(secrets, clock, siteUrl);
  const bounded = boundReader(options.reader, semaphore);
  const reader = sharedReader(bounded, clock);
  const web = openWeb(addresses);
  const throttle = openThrottle(subscriptionLimits.emailGapMs);
  const parts = { sql, clock, log, reader, pictures, links, mail, web, throttle };
  const deliveries = openDeliveryWork(parts, options.metrics);
  // A check judges a result of its own.
  const alerts = openAlertWork({ ...parts, reader: bounded }, options.metrics);
  return {
    start: () => {
      deliveries.start();
      alerts.start();
    },
    /** Checks what is due, then delivers. */
    poll: async () => {
      await alerts.poll();
      await alerts.settle();
      await deliveries.poll();
    },
    settle: () => deliveries.settle(),
    links,
    pictures,
    close: async () => {
      await Promise.all([alerts.close(), deliveries.close()]);
      mail.close();
      pictures.close();
    },
  };
}

/** `semaphore`: bounds how many reads run at the same time. */
function boundReader(reader: ReportReader, semaphore: Semaphore): ReportReader {
  const busy = () => new Error("too many insights are being read");
  const run = <Answer>(owner: number, read: () => Promise<Answer>) => semaphore.run({ owner, busy }, read);
  return {
    insight: (owner, id) => run(owner, () => reader.insight(owner, id)),
    dashboard: (owner, ...rest) => run(owner, () => reader.dashboard(owner, ...rest)),
  };
}

/** Uses a result for all deliveries of the next seconds. */
function sharedReader(reader: ReportReader, clock: Clock): ReportReader {
  const { deliveryReadAgeMs: ageMsMax, deliveryReadsKeptMax: sizeMax } = subscriptionLimits;
  type Read<Rest extends readonly unknown[], Answer> = (
    project_id: number,
    id: number,
    ...rest: Rest
  ) => Promise<Answer>;
  type View = { isAway?: boolean } | undefined;
  const share = <Rest extends readonly unknown[], Answer>(
    read: Read<Rest, Answer>,
    views: (answer: Answer) => readonly View[],
  ): Read<Rest, Answer> => {
    // A store that was away is asked again by the next attempt.
    const isKept = (answer: Answer) => !views(answer).some((view) => view?.isAway);
    const recent = openRecent<string, Answer>(clock, { ageMsMax, sizeMax, isKept });
    return (owner, id, ...rest) => recent(JSON.stringify([owner, id, rest]), () => read(owner, id, ...rest));
  };
  return {
    insight: share(reader.insight, (view) => [view]),
    dashboard: share(reader.dashboard, (board) => board?.insights ?? []),
  };
}
