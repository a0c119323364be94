// The metrics of events on their way in, by lane, and of what waits.

import { Registry } from "../http/metrics/metrics.ts";

export type CaptureMetrics = ReturnType<typeof openMetrics>;

/** Capture's metrics, at zero, in a registry that takes those of other rooms. */
export function openMetrics() {
  const registry = new Registry();
  const lanes = ["live", "historical", "recordings"];
  const counters = (name: string, help: string, label: string, values?: readonly string[]) =>
    registry.counters(name, help, label, values);
  return {
    registry,
    eventsReceived: registry.counter("sluice_events_received_total", "Events found in accepted requests."),
    eventsAccepted: counters("sluice_events_accepted_total", "Events accepted, by lane.", "lane", lanes),
    eventsIgnored: counters(
      "sluice_events_ignored_total",
      "Events ignored, by reason; received = accepted + ignored.",
      "reason",
    ),
    eventsWarned: counters(
      "sluice_events_warned_total",
      "Events accepted with a change or a missing property, by warning.",
      "warning",
    ),
    requestsRefused: counters(
      "sluice_requests_refused_total",
      "Capture requests refused whole, by code.",
      "code",
    ),
    eventsStored: counters("sluice_events_stored_total", "Events ClickHouse has confirmed.", "lane", lanes),
    flushSeconds: registry.histogram(
      "sluice_flush_seconds",
      "Time from sealing a segment to ClickHouse's confirmation.",
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    ),
    captureSeconds: registry.histogram(
      "sluice_capture_seconds",
      "Time to answer a capture request.",
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    ),
    spikes: registry.counter("sluice_spikes_total", "Spikes of live events found."),
  };
}
