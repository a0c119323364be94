// Events over time: how many there are on each day, of those that are listed.

import type { ShownEvent } from "../live/event_row.tsx";
import { Chart } from "../ui/chart.tsx";
import { numberText } from "../ui/format.ts";
import { Table } from "../ui/table.tsx";

const dayMs = 86_400_000;
/** Days that are drawn: ten years. A client's clock may say anything. */
const daysMax = 3660;

export function Activity({ events }: { events: readonly ShownEvent[] }) {
  const counts = new Map<number, number>();
  for (const { timestamp } of events) {
    const day = Math.floor(new Date(timestamp).getTime() / dayMs);
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  const days = [...counts.keys()].filter(Number.isFinite).toSorted((one, other) => one - other);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined || first === last || last - first > daysMax) return null;
  const all = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const label = `Events by day: the newest ${events.length} fall on ${days.length} days`;
  return (
    <>
      <Chart
        label={label}
        times={all.map((day) => (day * dayMs) / 1000)}
        lines={[{ label: "Events a day", values: all.map((day) => counts.get(day) ?? 0) }]}
        height={160}
      />
      <details class="numbers">
        <summary>Numbers</summary>
        <Table
          caption="Events by day"
          rows={days.toReversed()}
          id={(day) => day}
          columns={[
            { name: "Day", cell: (day) => new Date(day * dayMs).toISOString().slice(0, 10), fixed: true },
            { name: "Events", cell: (day) => numberText(counts.get(day) ?? 0), number: true },
          ]}
        />
      </details>
    </>
  );
}
