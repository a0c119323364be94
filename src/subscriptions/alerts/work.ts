// The worker of alerts: due ones are checked, and what crossed its threshold, or came back, becomes a delivery.

import { foreignText, storableJson } from "../../core/foreign_text.ts";
import { type Log, toReason } from "../../core/log.ts";
import type { Metrics } from "../../http/metrics/metrics.ts";
import { type Lease, LeaseQueue } from "../../storage/postgres/lease_queue.ts";
import type { Uses } from "../../storage/services.ts";
import { readWatermarks } from "../../storage/watermark.ts";
import { subscriptionLimits } from "../limits.ts";
import type { Report } from "../report/model.ts";
import { dayText, numberText } from "../report/numbers.ts";
import type { ReportReader } from "../report/report.ts";
import { buildSection, type InsightView } from "../report/section.ts";
import { type CheckEnd, type ClaimedAlert, endCheck, leasedAlerts } from "./check_store.ts";
import { NoFigure, NoneOver, readAlertFigures } from "./figure.ts";
import { judgeFigures, type Judgement, nextCheck } from "./judge.ts";
import { alertLimits } from "./limits.ts";

interface AlertParts extends Uses<"sql" | "clock" | "log"> {
  reader: ReportReader;
}

export function openAlertWork(parts: AlertParts, { registry }: Metrics) {
  const { sql } = parts;
  const openedAt = parts.clock.now();
  const checks = registry.counters<string>(
    "sluice_alert_checks_total",
    "Checks of alerts, by the state that they left.",
    "state",
    ["firing", "not_firing", "failed"],
  );
  return new LeaseQueue<ClaimedAlert>({
    ...parts,
    atOnceMax: alertLimits.checksAtOnceMax,
    pollMs: alertLimits.pollMs,
    leaseMs: alertLimits.claimMs,
    beatMs: alertLimits.claimMs / 4,
    name: "alerts",
    rows: (now) => leasedAlerts(sql, now),
    attempt: async (alert, lease) => {
      const end = await checkAlert(parts, alert, lease, openedAt);
      if (end) checks.of(end.error !== null ? "failed" : end.firing ? "firing" : "not_firing").add();
    },
  });
}

/**
 * Resolves to what was stored; undefined when the claim was lost.
 * @param openedAt since when alerts are checked here.
 */
async function checkAlert(
  { sql, clock, log, reader }: AlertParts,
  alert: ClaimedAlert,
  lease: Lease,
  openedAt: number,
) {
  const now = clock.now();
  const isEarly = now - Math.max(alert.due_at.getTime(), openedAt) < alertLimits.awayMsMax;
  // The lease has it repeated: events that are received and not stored yet would be missing from the interval.
  const { through } = await readWatermarks(sql, now);
  if (isEarly && through < now - alertLimits.storedLateMsMax)
    throw new Error("Events are still to be stored.");
  const view = alert.is_allowed ? await reader.insight(alert.project_id, alert.insight_id) : undefined;
  // A store that is away for a while is no failure.
  if (view?.isAway && isEarly) throw new Error(view.error ?? "");
  const end = view ? judgeAlert(alert, view, now, log) : endAlert(alert, now);
  const stored = await lease.end((bare) =>
    endCheck(
      sql,
      alert,
      bare ? { ...end, error: end.error && "Why could not be stored." } : end,
      new Date(now),
    ),
  );
  if (stored && !end.enabled)
    log.info("an alert ended", { alert_id: alert.id, project_id: alert.project_id, reason: end.error });
  return stored ? end : undefined;
}

const nothing = { calculated_value: null, value: null, previous_value: null, report: undefined };

/** Its maker has left, or its insight was deleted: nothing is told, since nobody has the right to know. */
function endAlert(alert: ClaimedAlert, now: number): CheckEnd {
  const error = alert.is_allowed ? "The insight was deleted." : "Whoever made it is no longer a member.";
  const { firing, failures } = alert;
  const next_check_at = new Date(now);
  return { ...nothing, state: "Errored", error, firing, failures, enabled: false, next_check_at };
}

/** Compares the insight's figure now with what the last check left. */
function judgeAlert(alert: ClaimedAlert, view: InsightView, now: number, log: Log): CheckEnd {
  const next_check_at = nextCheck(alert, alert.timezone, now);
  const leaveState = (firing: boolean) => {
    const state = firing ? ("Firing" as const) : ("Not firing" as const);
    return { ...nothing, state, error: null, firing, failures: 0, enabled: true, next_check_at };
  };
  try {
    const figures = readAlertFigures(view, alert.config, now, alert.calculation_interval);
    // A figure without intervals is compared with that of the last check.
    const [only] = figures;
    if (only && figures.length === 1 && only.span === undefined) only.before ??= alert.last_value;
    const isRelative = (alert.condition?.type ?? "absolute_value") !== "absolute_value";
    if (isRelative && figures.length > 1 && only?.span === undefined)
      throw new NoFigure("The values of a breakdown without intervals have nothing to be compared with.");
    const judgement = judgeFigures(alert, figures);
    const { figure, measured, breach } = judgement;
    const firing = breach === null ? alert.firing : breach !== undefined;
    return {
      ...leaveState(firing),
      calculated_value: measured,
      value: figure.value,
      previous_value: figure.before,
      report: firing === alert.firing ? undefined : writeReport(alert, view, now, judgement),
    };
  } catch (thrown) {
    if (thrown instanceof NoneOver) return leaveState(alert.firing);
    if (thrown instanceof NoFigure) return failCheck(alert, view, now, next_check_at, thrown.message);
    log.warn("an alert could not be judged", { alert_id: alert.id, reason: toReason(thrown) });
    return failCheck(alert, view, now, next_check_at, "Its results could not be judged.");
  }
}

/** A check without a figure is neither an alert nor a recovery. It is told once, when so many fail in a row. */
function failCheck(
  alert: ClaimedAlert,
  view: InsightView,
  now: number,
  next: Date,
  reason: string,
): CheckEnd {
  const { failuresToldAt, failureRetryMs } = alertLimits;
  const error = foreignText(reason, { secrets: [], charsMax: subscriptionLimits.deliveryErrorCharsMax });
  const failures = Math.min(alert.failures + 1, failuresToldAt + 1);
  const isTold = failures === failuresToldAt;
  return {
    ...nothing,
    state: "Errored",
    error,
    firing: alert.firing,
    failures,
    enabled: true,
    next_check_at:
      failures < failuresToldAt ? new Date(Math.min(now + failureRetryMs, next.getTime())) : next,
    report: isTold ? writeReport(alert, { ...view, error }, now) : undefined,
  };
}

/** What is told; without a judgement, that the alert cannot be checked. */
function writeReport(alert: ClaimedAlert, view: InsightView, now: number, judgement?: Judgement): Report {
  const name = alert.name || view.name;
  const section = buildSection(view, undefined);
  const told = (text: string, figures: typeof section.figures): Report =>
    storableJson({
      title: `${name}: ${text}`,
      subject: view.name,
      summary: `An alert that is checked ${alert.calculation_interval}`,
      day: dayText(now, alert.timezone),
      invite: null,
      sections: [{ ...section, figures }],
      more: 0,
    });
  if (!judgement) return told(`could not be checked ${alertLimits.failuresToldAt} times`, []);
  const { label, value, before, unit, span = "" } = judgement.figure;
  const shown = { label: span ? `${label}, ${span}` : label, value, unit, before };
  const since = span ? "since the interval before" : "since the last check";
  const text = judgement.breach ?? `${numberText(value, unit)}, back within its bounds`;
  return told(text, [{ ...shown, since }]);
}
