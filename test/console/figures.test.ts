import { expect, test } from "bun:test";
import { openMetrics } from "../../src/capture/metrics.ts";
import { computeFigures } from "../../src/console/figures.ts";

test("figures are the sums of all processes, by lane and by reason", () => {
  const [one, other] = [openMetrics(), openMetrics()];
  one.eventsAccepted.of("live").add(3);
  other.eventsAccepted.of("live").add(4);
  other.eventsAccepted.of("historical").add(5);
  one.eventsIgnored.of("missing_event_name").add(2);
  one.eventsIgnored.of('odd "name"\n').add(1);
  one.registry.followed("gauge", "sluice_journal_pending_events", "Pending.", () => 7);
  one.captureSeconds.observe(0.5);
  other.captureSeconds.observe(0.25);
  const read = [one.registry.read(), other.registry.read()];
  expect(computeFigures(read, 5, null)).toMatchObject({
    at: 5,
    behind_ms: null,
    accepted: { live: 7, historical: 5, recordings: 0 },
    ignored: { missing_event_name: 2, 'odd \\"name\\"\\n': 1 },
    pending_events: 7,
    captures: { count: 2, seconds: 0.75 },
    quarantined: 0,
  });
});
