import { expect, test } from "bun:test";
import { openMetrics } from "../../../src/capture/metrics.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { countedBy, Counters, Histogram, Registry } from "../../../src/http/metrics/metrics.ts";

test("the promised metrics are there from the start, lanes at zero", () => {
  const text = openMetrics().registry.render();
  for (const line of [
    "sluice_events_received_total 0",
    'sluice_events_accepted_total{lane="live"} 0',
    'sluice_events_accepted_total{lane="historical"} 0',
    "# TYPE sluice_events_ignored_total counter",
    "# TYPE sluice_requests_refused_total counter",
    'sluice_events_stored_total{lane="live"} 0',
    'sluice_events_stored_total{lane="historical"} 0',
    "# TYPE sluice_flush_seconds histogram",
    "# TYPE sluice_capture_seconds histogram",
    "sluice_spikes_total 0",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("what is counted is what is shown", () => {
  const metrics = openMetrics();
  metrics.eventsReceived.add(3);
  metrics.eventsAccepted.of("live").add(2);
  metrics.eventsIgnored.of("missing_event_name").add();
  metrics.registry.followed("gauge", "sluice_journal_pending_events", "Pending.", () => 7);
  const lines = metrics.registry.render().split("\n");
  expect(lines).toContain("sluice_events_received_total 3");
  expect(lines).toContain('sluice_events_accepted_total{lane="live"} 2');
  expect(lines).toContain('sluice_events_ignored_total{reason="missing_event_name"} 1');
  expect(lines).toContain("sluice_journal_pending_events 7");
  expect(metrics.eventsAccepted.value + metrics.eventsIgnored.value).toBe(metrics.eventsReceived.value);
});

test("a histogram's buckets add up, and include their upper bound", () => {
  const registry = new Registry();
  const histogram = registry.histogram("h", "A histogram.", [0.5, 1]);
  for (const value of [0.25, 0.5, 0.75, 8]) histogram.observe(value);
  expect(registry.render()).toBe(
    [
      "# HELP h A histogram.",
      "# TYPE h histogram",
      'h_bucket{le="0.5"} 2',
      'h_bucket{le="1"} 3',
      'h_bucket{le="+Inf"} 4',
      "h_sum 9.5",
      "h_count 4",
      "",
    ].join("\n"),
  );
  expect(new Histogram([]).counts).toHaveLength(1);
});

test("a label's value is escaped", () => {
  const registry = new Registry();
  registry.counters("c", "Counts.", "reason").of('a"b\\c\nd').add();
  expect(registry.render()).toContain('c{reason="a\\"b\\\\c\\nd"} 1\n');
});

test("values past labelValuesMax are counted together", () => {
  const counters = new Counters<string>("reason");
  for (let i = 0; i < httpLimits.labelValuesMax + 5; i += 1) counters.of(`reason_${i}`).add();
  expect(counters.of("other").value).toBe(5);
  expect(counters.value).toBe(httpLimits.labelValuesMax + 5);
});

test("a gauge that follows something shows it as it is", () => {
  const registry = new Registry();
  let bytes = 5;
  registry.followed("gauge", "held_bytes", "Bytes held.", () => bytes);
  bytes = 6;
  expect(registry.render()).toContain("held_bytes 6\n");
});

test("two metrics of one name are refused", () => {
  const registry = new Registry();
  registry.followed("gauge", "g", "A gauge.", () => 1);
  expect(() => registry.counter("g", "Another.")).toThrow("twice");
});

test("readings of several processes are added up, and what one counted stays when it ends", () => {
  const [one, two] = [openMetrics(), openMetrics()];
  one.eventsReceived.add(3);
  two.eventsReceived.add(4);
  two.eventsIgnored.of("snapshot").add(2);
  one.registry.followed("gauge", "sluice_journal_pending_events", "Pending.", () => 5);
  two.registry.followed("gauge", "sluice_journal_pending_events", "Pending.", () => 6);
  one.captureSeconds.observe(0.002);
  two.captureSeconds.observe(3);
  const lines = one.registry.render([two.registry.read()]).split("\n");
  for (const line of [
    "sluice_events_received_total 7",
    'sluice_events_ignored_total{reason="snapshot"} 2',
    "sluice_journal_pending_events 11",
    'sluice_capture_seconds_bucket{le="0.0025"} 1',
    'sluice_capture_seconds_bucket{le="+Inf"} 2',
    "sluice_capture_seconds_sum 3.002",
  ]) {
    expect(lines).toContain(line);
  }
  const ended = countedBy(two.registry.read(), countedBy(two.registry.read(), {}));
  const later = one.registry.render([ended]).split("\n");
  expect(later).toContain("sluice_events_received_total 11");
  expect(later).toContain("sluice_journal_pending_events 5");
  expect(later.filter((line) => line.startsWith("# TYPE")).length).toBe(
    one.registry
      .render()
      .split("\n")
      .filter((line) => line.startsWith("# TYPE")).length,
  );
});
