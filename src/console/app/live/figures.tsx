// The server's figures: how much arrives, how much is pending, how long it takes; and an import's progress.

import type { ComponentChildren } from "preact";
import { Chart } from "../ui/chart.tsx";
import { bytesText, durationText, numberText } from "../ui/format.ts";
import { Card } from "../ui/parts.tsx";
import { Facts } from "../ui/table.tsx";
import {
  type FiguresMessage,
  type ImportProgress,
  listRates,
  listTimes,
  measureImport,
  recentRate,
  total,
} from "./rates.ts";

/** Lanes of the journal with their titles. */
const lanes = [
  ["live", "Live events"],
  ["historical", "Imported events"],
  ["recordings", "Recorded pieces"],
] as const;

export function FigureCards({ history }: { history: readonly FiguresMessage[] }) {
  const last = history.at(-1);
  if (!last) return null;
  const { captures: before } = history.at(-6) ?? history[0]!;
  const count = last.captures.count - before.count;
  const times = listTimes(history);
  const sparkline = (label: string, values: readonly number[]) =>
    values.length < 2 ? (
      <div class="chart bare empty" />
    ) : (
      <Chart label={`${label}, two minutes`} times={times} lines={[{ label, values }]} height={40} bare />
    );
  const laneFigures = lanes.map(([lane, title]) => {
    const rates = listRates(history, ({ accepted }) => accepted[lane] ?? 0);
    const note = `${numberText(last.accepted[lane] ?? 0)} since the start`;
    const line = sparkline(`${title} a second`, rates);
    return renderFigure(`${title} / s`, numberText(recentRate(rates)), note, line);
  });
  const pending = history.slice(1).map(({ pending_events }) => pending_events);
  const behind = last.behind_ms === null ? "unknown" : durationText(Math.max(0, last.behind_ms) / 1000);
  const answer = count > 0 ? durationText((last.captures.seconds - before.seconds) / count) : "–";
  const refused = `mean of the last seconds; ${numberText(total(last.refused))} refused`;
  const quarantined = "events that the store refuses permanently";
  return (
    <div class="figures">
      {laneFigures}
      {renderFigure(
        "Journal pending",
        numberText(last.pending_events),
        `${bytesText(last.pending_bytes)} on disk, not stored yet`,
        sparkline("Events pending in the journal", pending),
      )}
      {renderFigure("Accepted to stored", behind, "events accepted earlier than this can be read")}
      {renderFigure("Time to answer a capture", answer, refused)}
      {renderFigure("Quarantined", numberText(last.quarantined), quarantined, null, last.quarantined > 0)}
      {renderFigure("Spikes", numberText(last.spikes), "sudden rises of live events")}
      {renderFigure("Free disk", bytesText(last.disk_free_bytes), "of the volume with the journal")}
    </div>
  );
}

function renderFigure(name: string, value: string, note: string, more?: ComponentChildren, isBad = false) {
  return (
    <div key={name} class={isBad ? "figure bad" : "figure"}>
      <h3>{name}</h3>
      <p class="big">{value}</p>
      {more}
      <p class="quiet">{note}</p>
    </div>
  );
}

/** Events that were ignored or changed, by reason. */
export function Fates({ last }: { last: FiguresMessage }) {
  const kinds = [
    ["Ignored", last.ignored],
    ["Warned", last.warned],
    ["Requests refused", last.refused],
  ] as const;
  return (
    <Card title="Since the server started" wide>
      <Facts of={kinds.map(([name, counts]) => [name, <Counts of={counts} />])} />
    </Card>
  );
}

function Counts({ of }: { of: Record<string, number> }) {
  const there = Object.entries(of).filter(([, count]) => count > 0);
  if (there.length === 0) return <>none</>;
  return (
    <>
      {there.map(([reason, count]) => (
        <span key={reason} class="tag">
          {reasonText(reason)}: {numberText(count)}
        </span>
      ))}
    </>
  );
}

/** `distinct_id_too_long` as "distinct id too long". */
export const reasonText = (reason: string): string => reason.replaceAll("_", " ").trim();

export function ImportCard({ history }: { history: readonly FiguresMessage[] }) {
  const progress = measureImport(history);
  if (!progress) return null;
  const { accepted, stored, acceptedRate, storedRate, pending } = progress;
  const whole = Math.max(accepted, stored + pending);
  return (
    <Card title="Import" wide>
      <progress aria-label="Imported events that are stored" max={whole} value={whole - pending} />
      <Facts
        of={[
          ["Accepted", `${numberText(accepted)} events, ${numberText(acceptedRate)} a second`],
          ["Stored", `${numberText(stored)} events, ${numberText(storedRate)} a second`],
          ["Pending", `${numberText(pending)} events in the journal`],
          ["Remaining", remainingText(progress)],
        ]}
      />
      <p class="quiet">Events of the historical lane since the server started.</p>
    </Card>
  );
}

function remainingText({ pending, remainingSeconds, acceptedRate }: ImportProgress): string {
  if (pending === 0)
    return acceptedRate > 0 ? "nothing for now; more is coming in" : "nothing: all is stored";
  if (remainingSeconds === undefined) return "not known yet: nothing was stored in the last half minute";
  const time = `about ${durationText(Math.ceil(remainingSeconds))}`;
  return acceptedRate > 0 ? `${time} for what has arrived so far` : time;
}
