import { expect, test } from "bun:test";
import fc from "fast-check";
import { captureLimits } from "../../../src/capture/limits.ts";
import { type Spike, SpikeWatch } from "../../../src/capture/warnings/spike.ts";

const minuteMs = 60_000;
const start = 28_000_000 * minuteMs;

function watch(): SpikeWatch {
  const spikes = new SpikeWatch();
  spikes.armed = true;
  return spikes;
}

test("a minute above ten times the mean of the last hour and above 1,000 events begins a spike, once", () => {
  const spikes = watch();
  for (let minute = 0; minute < 60; minute++) spikes.count(1, 200, start + minute * minuteMs);
  const now = start + 60 * minuteMs;
  expect(spikes.count(1, 2000, now)).toBeUndefined();
  expect(spikes.count(1, 1, now + 5)).toEqual({
    project_id: 1,
    start: now,
    end: undefined,
    peak: 2001,
    baseline: 200,
  });
  expect(spikes.count(1, 5000, now + 10)).toBeUndefined();
  expect(spikes.drainEnded(now + minuteMs)).toEqual([]);
  expect(spikes.count(1, 9000, now + minuteMs)).toBeUndefined();
  expect(spikes.drainEnded(now + 3 * minuteMs)).toEqual([
    { project_id: 1, start: now, end: now + 2 * minuteMs, peak: 9000, baseline: 200 },
  ]);
  expect(spikes.drainEnded(now + 4 * minuteMs)).toEqual([]);
});

test("a thousand events are no spike, however quiet the hour was", () => {
  const spikes = watch();
  spikes.count(1, 1, start);
  const now = start + 90 * minuteMs;
  expect(spikes.count(1, 1000, now)).toBeUndefined();
  expect(spikes.count(1, 1, now)).toMatchObject({ peak: 1001, baseline: 0 });
});

test("a new project's first events are no spike, and later ones are compared with the minutes since", () => {
  const spikes = watch();
  expect(spikes.count(1, 5000, start)).toBeUndefined();
  expect(spikes.count(1, 5000, start + minuteMs)).toBeUndefined();
  expect(spikes.count(1, 50_000, start + 2 * minuteMs)).toBeUndefined();
  expect(spikes.count(1, 1, start + 2 * minuteMs)).toMatchObject({ baseline: 5000, peak: 50_001 });
});

test("a project that begins within a minute at a rate and goes on so has no spike, also over a restart", () => {
  for (const second of [0, 20, 55, 59, 59.99]) {
    const spikes = watch();
    const restarted = watch();
    const began = start + second * 1000;
    for (let at = began; at < start + 5 * minuteMs; at += 10) {
      expect({ second, at, spike: spikes.count(1, 1, at) }).toEqual({ second, at, spike: undefined });
    }
    const events = Math.ceil((start + minuteMs - began) / 10);
    restarted.seed(1, { minute: start / minuteMs, events, since: began }, start + minuteMs);
    for (let at = start + minuteMs; at < start + 3 * minuteMs; at += 10) {
      expect(restarted.count(1, 1, at)).toBeUndefined();
    }
  }
});

test("after an hour a spike is what is usual", () => {
  const spikes = watch();
  spikes.count(1, 1, start - 90 * minuteMs);
  const found: Spike[] = [];
  for (let minute = 0; minute < 200; minute++) {
    spikes.count(1, 5000, start + minute * minuteMs);
    found.push(...spikes.drainEnded(start + minute * minuteMs));
  }
  expect(found.map(({ start: from, end }) => (end! - from) / minuteMs)).toEqual([60]);
});

test("an earlier process's minutes count, and nothing is found before they are known", () => {
  const spikes = new SpikeWatch();
  expect(spikes.count(1, 5000, start)).toBeUndefined();
  const minute = start / minuteMs;
  for (let age = 1; age <= 60; age++) {
    spikes.seed(1, { minute: minute - age, events: 1000, since: (minute - age) * minuteMs }, start);
  }
  spikes.seed(1, { minute: minute - 61, events: 1e9, since: (minute - 61) * minuteMs }, start);
  spikes.armed = true;
  expect(spikes.count(1, 4000, start)).toBeUndefined();
  expect(spikes.count(1, 1001, start)).toMatchObject({ baseline: 1000, peak: 10_001 });
});

test("projects are forgotten after an idle hour, and only so many are watched", () => {
  const spikes = watch();
  for (let id = 0; id < captureLimits.spikeProjectsMax + 10; id++) spikes.count(id, 1, start);
  expect(spikes.size).toBe(captureLimits.spikeProjectsMax);
  spikes.drainEnded(start + 30 * minuteMs);
  expect(spikes.size).toBe(captureLimits.spikeProjectsMax);
  spikes.drainEnded(start + 61 * minuteMs);
  expect(spikes.size).toBe(0);
});

test("a clock that goes back, or far ahead, harms nothing", () => {
  const spikes = watch();
  spikes.count(1, 10, start);
  spikes.count(1, 10, start - 10 * minuteMs);
  spikes.count(1, 10, start + 1e12);
  expect(spikes.drainEnded(start + 2e12)).toEqual([]);
  for (let minute = 0; minute < 30; minute++) {
    expect(spikes.count(1, 900, start + minute * minuteMs)).toBeUndefined();
  }
});

/** What the definition says, from the whole list of events: every spike's first and last minute, peak and baseline. */
function naive(minutes: readonly number[]): Spike[] {
  const found: Spike[] = [];
  const sumBefore = (end: number) => {
    let sum = 0;
    for (let minute = end - 60; minute < end; minute++) sum += minutes[minute] ?? 0;
    return sum;
  };
  const first = minutes.findIndex((events) => events > 0);
  // Once an hour without events has passed, the project is an old one.
  const isOld = (at: number) => {
    for (let end = first + 1; end <= at; end++) if (sumBefore(end) === 0) return true;
    return false;
  };
  const mean = (at: number) => {
    const compared = isOld(at) ? 60 : Math.min(60, at - first);
    return compared <= 0 ? Number.POSITIVE_INFINITY : sumBefore(at) / compared;
  };
  for (let minute = 0; minute < minutes.length; minute++) {
    const baseline = mean(minute);
    const above = (at: number) => (minutes[at] ?? 0) > 1000 && (minutes[at] ?? 0) > 10 * baseline;
    if (!above(minute)) continue;
    let end = minute;
    while (end < minutes.length && end - minute < 60 && above(end)) end++;
    const peak = Math.max(...minutes.slice(minute, end));
    found.push({
      project_id: 1,
      start: start + minute * minuteMs,
      end: start + end * minuteMs,
      peak,
      baseline,
    });
    minute = end - 1;
  }
  return found;
}

test("finds what the definition says, in whatever portions events come and however often it is looked at", () => {
  const level = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 3000 }), fc.constantFrom(0, 1000, 1001, 40_000));
  const run = fc.tuple(level, fc.integer({ min: 1, max: 70 }));
  fc.assert(
    fc.property(fc.array(run, { maxLength: 6 }), fc.integer({ min: 1, max: 7 }), (runs, portions) => {
      const minutes = runs.flatMap(([events, length]) => Array.from({ length }, () => events));
      const spikes = watch();
      const begun: number[] = [];
      const ended: Spike[] = [];
      for (const [minute, events] of minutes.entries()) {
        for (let portion = 0; portion < portions; portion++) {
          const part = Math.floor(events / portions) + (portion < events % portions ? 1 : 0);
          const now = start + minute * minuteMs + portion * 7000;
          if (part > 0) {
            const spike = spikes.count(1, part, now);
            if (spike) begun.push(spike.start);
          }
          if ((minute + portion) % 3 === 0) ended.push(...spikes.drainEnded(now));
        }
      }
      ended.push(...spikes.drainEnded(start + minutes.length * minuteMs + 1));
      ended.push(...spikes.drainEnded(start + (minutes.length + 1) * minuteMs));
      const expected = naive(minutes);
      expect(ended).toEqual(expected);
      expect(begun).toEqual(expected.map((spike) => spike.start));
    }),
    { numRuns: 300 },
  );
});
