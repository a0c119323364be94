// The progress of an import: events accepted, events stored, and the time left.

import { durationText, numberText } from "../ui/format.ts";
import { Card } from "../ui/parts.tsx";
import { Facts } from "../ui/table.tsx";
import type { FiguresMessage } from "./messages.ts";
import { importOf, type ImportProgress } from "./rates.ts";

export function ImportCard({ history }: { history: readonly FiguresMessage[] }) {
  const progress = importOf(history);
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
