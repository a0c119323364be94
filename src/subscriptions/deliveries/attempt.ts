// One attempt at one delivery: makes the report, sends it to each recipient, and returns the outcome. The state
// "sending" is stored before every send; a recipient who is found in it is not sent to again.

import { withinMs } from "../../core/clock.ts";
import { foreignText, secretsInUrl, storableJson } from "../../core/foreign_text.ts";
import { toReason } from "../../core/log.ts";
import { toIso } from "../../http/fields/field_time.ts";
import type { Uses } from "../../storage/services.ts";
import { addressesIn } from "../channels/address_list.ts";
import { DeliveryError } from "../channels/delivery_error.ts";
import { emailHtml, writeSubject } from "../channels/email.ts";
import { emailText } from "../channels/email_text.ts";
import { slackBody, webhookBody } from "../channels/message.ts";
import type { Mail } from "../channels/smtp.ts";
import type { Web } from "../channels/web.ts";
import { subscriptionLimits } from "../limits.ts";
import { parseWebUrl } from "../model.ts";
import { chartSvg } from "../report/chart.ts";
import type { Pictures } from "../report/png.ts";
import { makeReport, NothingToSend, type ReportReader } from "../report/report.ts";
import type { Links } from "../route.ts";
import { type ClaimedDelivery, type Recipient, type Recipients, recordSending } from "./store.ts";

export interface AttemptParts extends Uses<"sql" | "clock" | "log"> {
  reader: ReportReader;
  pictures: Pictures;
  links: Links;
  mail: Mail;
  web: Web;
  /** Resolves when the next message may be composed. */
  throttle: () => Promise<void>;
}

/**
 * Attempts a claimed delivery once. Failures of single recipients are in the result. `lost`: the claim was lost, and
 * nothing may be stored. `stopped`: the server stops before all messages are sent.
 * @param stopping aborts when nothing more may be sent.
 */
export async function attemptDelivery(parts: AttemptParts, delivery: ClaimedDelivery, stopping: AbortSignal) {
  const recipients = withInterrupted(delivery.recipients);
  const { target_type, target_value } = delivery;
  const targets = target_type === "email" ? addressesIn(target_value) : [target_value];
  const open = targets.filter((target) => (recipients[target]?.state ?? "again") === "again");
  const end = (whole?: Recipient) => ended(parts.clock.now(), delivery.attempts, recipients, whole);
  if (delivery.deleted) return end(fatal("The subscription was deleted."));
  // More attempts are made only of a delivery whose attempts were interrupted, for example by a crash.
  if (delivery.attempts > subscriptionLimits.deliveryRetriesMs.length + 1) {
    const error = `Stopped after ${delivery.attempts - 1} interrupted attempts.`;
    return end({ state: "refused", error, blame: "server" });
  }
  if (open.length === 0) return end();
  let content: Content;
  try {
    content = await readContent(parts, delivery);
  } catch (thrown) {
    if (thrown instanceof NothingToSend) return end(fatal(thrown.message));
    const error = describeError(`The report cannot be made: ${toReason(thrown)}`, "");
    return end({ state: "again", error, blame: "server" });
  }
  for (const target of open) {
    await parts.throttle();
    if (stopping.aborted) return { status: "stopped" as const, recipients };
    recipients[target] = { state: "sending" };
    const now = parts.clock.now();
    const claim = { now: new Date(now), until: new Date(now + subscriptionLimits.deliveryClaimMs) };
    const mine = await recordSending(parts.sql, delivery, { report: content.report, recipients, ...claim });
    if (!mine) return { status: "lost" as const };
    const outcome = send(parts, delivery, content, target).then(() => ({ state: "sent" as const }));
    recipients[target] = await outcome.catch((thrown: unknown) => sendFailure(thrown, target));
  }
  return end();
}

/** Turns `sending` into `doubt`: the process ended during that send. */
function withInterrupted(found: Recipients): Recipients {
  const error = "The server ended while sending; it may have arrived, so it is not sent again.";
  const doubt: Recipient = { state: "doubt", error, blame: "server" };
  return Object.fromEntries(
    Object.entries(found).map(([target, item]) => [target, item.state === "sending" ? doubt : item]),
  );
}

function fatal(error: string): Recipient {
  return { state: "refused", error, blame: "target" };
}

type Content = Awaited<ReturnType<typeof readContent>>;

/** The report, and a PNG for each of its sections; undefined where there is no chart. */
async function readContent(parts: AttemptParts, delivery: ClaimedDelivery) {
  const rawReport =
    delivery.report ?? (await withinMs(makeReport(parts.reader, delivery), subscriptionLimits.reportMsMax));
  const report = storableJson(rawReport);
  const wrong = report.sections.map(({ error }) => error);
  // An alert tells of its error.
  const isUseless = !delivery.alert_id && wrong.length > 0 && wrong.every((error) => error !== null);
  if (isUseless) throw new Error(wrong[0] ?? "");
  const pngs = await Promise.all(
    report.sections.map(async ({ chart, name }) => {
      const svg = chartSvg(chart);
      const drawn = svg === undefined ? undefined : parts.pictures.draw(svg);
      return await drawn?.catch((thrown: unknown) => {
        parts.log.warn("a chart was left out of a delivery", { name, reason: toReason(thrown) });
        return undefined;
      });
    }),
  );
  return { report, pngs };
}

async function send(parts: AttemptParts, delivery: ClaimedDelivery, content: Content, to: string) {
  const { report, pngs } = content;
  if (delivery.target_type === "email") return await sendEmail(parts, delivery, content, to);
  const url = parseWebUrl(to);
  if (!url) {
    const detail = "Slack is delivered to by incoming webhooks: set target_value to the URL of one.";
    throw new DeliveryError(detail, "refused", "target");
  }
  const { id, uuid, subscription_id, project_id, insight_id: insight, dashboard_id: dashboard } = delivery;
  const chartUrl = (section: number): string | undefined =>
    pngs[section] && parts.links.url({ opens: "chart", delivery: id, section });
  const { alert_id, alert_state: state } = delivery;
  const kind = alert_id ? { type: "alert.notification", alert_id, state } : { subscription_id };
  const ids = { ...kind, delivery_id: id, delivery_uuid: uuid, project_id, insight, dashboard };
  const view_url = parts.links.url({ opens: "report", delivery: id });
  const facts = { ...ids, due_at: toIso(delivery.due_at), test: delivery.test, view_url };
  const body =
    delivery.target_type === "slack"
      ? slackBody(report, view_url, chartUrl)
      : webhookBody(report, facts, (i) => pngs[i]);
  await parts.web.send({ url, body, idempotencyKey: uuid });
}

async function sendEmail(parts: AttemptParts, delivery: ClaimedDelivery, content: Content, to: string) {
  const { links, mail } = parts;
  const { report, pngs } = content;
  const view = links.url({ opens: "report", delivery: delivery.id });
  const { uuid, test } = delivery;
  const subscription = delivery.alert_id ?? delivery.subscription_id!;
  const unsubscribe = links.url({ opens: "unsubscribe", subscription, address: to });
  const pictures = pngs.flatMap((png, i) => (png ? [{ cid: `chart${i}@sluice`, png }] : []));
  const urls = { view, unsubscribe, chart: (i: number) => (pngs[i] ? `cid:chart${i}@sluice` : undefined) };
  await mail.send({
    to,
    subject: writeSubject(report, test),
    text: emailText(report, urls),
    html: emailHtml(report, urls),
    pictures,
    id: `${uuid}.${Bun.hash.crc32(to).toString(16)}@sluice`,
    unsubscribe,
  });
}

/** An error text that can be stored and shown: without the secrets of the target's URL. */
function describeError(message: string, target: string): string {
  return foreignText(message, {
    secrets: secretsInUrl(target),
    charsMax: subscriptionLimits.deliveryErrorCharsMax,
  });
}

/** After an unexpected error, it is not known whether the message was sent. */
function sendFailure(thrown: unknown, target: string): Recipient {
  const isKnown = thrown instanceof DeliveryError;
  const unexpected = () => new DeliveryError(`Sending failed: ${toReason(thrown)}`, "doubt", "server");
  const { fate, message, blame } = isKnown ? thrown : unexpected();
  return { state: fate, error: describeError(message, target), blame };
}

/** `whole`: a failure of the delivery before any message was sent. */
function ended(now: number, attempts: number, recipients: Recipients, whole?: Recipient) {
  const all = Object.entries(recipients);
  const hasSent = all.some(([, { state }]) => state === "sent");
  const wrong: [string, Recipient][] = all.filter(([, { error }]) => error !== undefined);
  if (whole) wrong.push(["", whole]);
  const wait = wrong.some(([, { state }]) => state === "again")
    ? subscriptionLimits.deliveryRetriesMs[attempts - 1]
    : undefined;
  const texts = wrong.map(([target, { error = "" }]) =>
    all.length > 1 && target ? `${target}: ${error}` : error,
  );
  const error = texts.length > 0 ? texts.join(" ") : null;
  if (wait !== undefined) {
    const next_attempt_at = new Date(now + wait * (0.8 + 0.4 * Math.random()));
    const outcome = { next_attempt_at, delivered_at: null, counts: false };
    return { status: "retrying" as const, error, recipients, ...outcome };
  }
  const status = hasSent ? ("delivered" as const) : ("failed" as const);
  const delivered_at = hasSent ? new Date(now) : null;
  const counts = wrong.some(([, { blame }]) => blame === "target");
  return { status, error, recipients, next_attempt_at: null, delivered_at, counts };
}
