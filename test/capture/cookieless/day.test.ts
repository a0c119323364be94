import { expect, test } from "bun:test";
import { isTaken, mayBeTaken, saltedDays, Zones } from "../../../src/capture/cookieless/day.ts";
import { captureLimits } from "../../../src/capture/limits.ts";

const at = (text: string) => Date.parse(text);
const hour = 3_600_000;
const zones = new Zones();

function shown(zone: string, moment: string): [string, string] | undefined {
  const day = zones.dayIn(zone, at(moment));
  return day && [day.date, new Date(day.from).toISOString()];
}

test("a moment is of the calendar day that its zone shows, which begins at its midnight", () => {
  expect(shown("UTC", "2026-03-05T23:59:59.999Z")).toEqual(["2026-03-05", "2026-03-05T00:00:00.000Z"]);
  expect(shown("Pacific/Kiritimati", "2026-03-05T10:00:00Z")).toEqual([
    "2026-03-06",
    "2026-03-05T10:00:00.000Z",
  ]);
  expect(shown("Pacific/Kiritimati", "2026-03-05T09:59:59Z")?.[0]).toBe("2026-03-05");
  expect(shown("Etc/GMT+12", "2026-03-05T11:59:59Z")).toEqual(["2026-03-04", "2026-03-04T12:00:00.000Z"]);
  expect(shown("asia/KATHMANDU", "2026-03-05T18:15:00Z")).toEqual(["2026-03-06", "2026-03-05T18:15:00.000Z"]);
});

test("a day whose clocks are set begins at its own midnight, or behind a jump over midnight", () => {
  for (const moment of ["2026-03-08T06:00:00Z", "2026-03-08T20:00:00Z", "2026-03-09T03:59:59Z"]) {
    expect(shown("America/New_York", moment)).toEqual(["2026-03-08", "2026-03-08T05:00:00.000Z"]);
  }
  for (const moment of ["2026-11-01T04:00:00Z", "2026-11-01T20:00:00Z", "2026-11-02T04:59:59Z"]) {
    expect(shown("America/New_York", moment)).toEqual(["2026-11-01", "2026-11-01T04:00:00.000Z"]);
  }
  // There is no midnight on this day in Beirut: 23:59:59 is followed by 01:00.
  expect(shown("Asia/Beirut", "2024-03-31T12:00:00Z")).toEqual(["2024-03-31", "2024-03-30T22:00:00.000Z"]);
  expect(shown("Asia/Beirut", "2024-03-30T22:00:00Z")).toEqual(["2024-03-31", "2024-03-30T22:00:00.000Z"]);
  expect(shown("Asia/Beirut", "2024-03-30T21:59:59Z")?.[0]).toBe("2024-03-30");
});

test("the day of a moment does not depend on which was asked for before", () => {
  for (const zone of ["America/New_York", "Asia/Beirut", "Pacific/Apia", "UTC"]) {
    const moments = Array.from({ length: 400 }, (_, i) => at("2011-12-20T00:00:00Z") + i * 7 * hour);
    const inOrder = moments.map((moment) => zones.dayIn(zone, moment));
    const backwards = moments.toReversed().map((moment) => zones.dayIn(zone, moment));
    expect(backwards.toReversed()).toEqual(inOrder);
    for (const [i, day] of inOrder.entries()) {
      expect(new Date(moments[i]!).toLocaleDateString("sv-SE", { timeZone: zone })).toBe(day!.date);
      expect(zones.dayIn(zone, day!.from)?.date).toBe(day!.date);
      expect(zones.dayIn(zone, day!.from - 1)?.date).not.toBe(day!.date);
    }
  }
});

test("what is no name of a zone has no day", () => {
  for (const zone of [
    "",
    "Nowhere/Town",
    "+01:00",
    "t12+05",
    "UTC\0",
    "x".repeat(1000),
    "constructor",
    "🚲",
  ]) {
    expect([zone, zones.dayIn(zone, 0)]).toEqual([zone, undefined]);
  }
});

test("events of a day are taken from its first moment in the first zone until 50 hours behind its last one", () => {
  expect(isTaken("2026-03-05", at("2026-03-04T10:00:00Z"))).toBe(true);
  expect(isTaken("2026-03-05", at("2026-03-04T10:00:00Z") - 1)).toBe(false);
  expect(isTaken("2026-03-05", at("2026-03-08T14:00:00Z") - 1)).toBe(true);
  expect(isTaken("2026-03-05", at("2026-03-08T14:00:00Z"))).toBe(false);
});

test("a salt is there a day before its day begins anywhere, and an hour behind its last event, at every moment", () => {
  for (let now = at("2026-02-25T00:00:00Z"); now < at("2026-03-05T00:00:00Z"); now += hour / 4) {
    const days = saltedDays(now);
    for (let day = at("2026-02-10"); day < at("2026-03-20"); day += 24 * hour) {
      const date = new Date(day).toISOString().slice(0, 10);
      const isWanted =
        now >= day + captureLimits.cookielessDayBeginsMs - captureLimits.saltMadeAheadMs &&
        now < day + captureLimits.cookielessDayEndsMs + captureLimits.saltKeptMs;
      expect([now, date, days.includes(date)]).toEqual([now, date, isWanted]);
      // A moment of a day that is taken is never left out for being too far away.
      if (isTaken(date, now))
        expect(mayBeTaken(day - 14 * hour, now) && mayBeTaken(day + 36 * hour - 1, now)).toBe(true);
    }
    expect(days.length).toBeLessThanOrEqual(6);
  }
});
