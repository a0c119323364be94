import { afterAll, expect, test } from "bun:test";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import {
  countFittingZones,
  openEngineZones,
  readStoredZone,
  toEngineZone,
} from "../../../src/storage/clickhouse/zones.ts";
import { embeddedLimits } from "../../../src/storage/embedded/limits.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";
import { hostileZones } from "../../support/zones.ts";

afterAll(cleanUp);

test(
  "the list has all zones of the engine, and reaches it by names that it has",
  async () => {
    const { clickhouse } = await openMadeStores();
    const rows = await clickhouse.query<{ time_zone: string }>("SELECT time_zone FROM system.time_zones");
    const names = new Set(rows.map((row) => row.time_zone));
    expect(names.size).toBeGreaterThan(590);
    // The zone of an unset machine.
    names.delete("Factory");
    expect([...names].filter((name) => toEngineZone(name) === undefined)).toEqual([]);
    const canonical = new Set([...names].map((name) => toEngineZone(name)!));
    for (const name of Intl.supportedValuesOf("timeZone")) canonical.add(toEngineZone(name)!);
    expect([...canonical].filter((name) => !names.has(name))).toEqual([]);
    expect(canonical.size).toBe(444);
    expect(Intl.supportedValuesOf("timeZone").filter((name) => !names.has(name))).toEqual([
      "America/Coyhaique",
    ]);
  },
  storesStartMsMax,
);

test.each([
  ["UTC", "UTC"],
  ["Etc/UTC", "UTC"],
  ["GMT", "UTC"],
  ["Europe/Berlin", "Europe/Berlin"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["US/Pacific", "America/Los_Angeles"],
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Etc/GMT+12", "Etc/GMT+12"],
  ["EST", "America/Panama"],
])("%s reaches the engine as %s", (name, canonical) => {
  expect(toEngineZone(name)).toBe(canonical);
  expect(toEngineZone(canonical)).toBe(canonical);
});

/** Links of the database's file `backward`. */
const links = `
  Africa/Asmera=Africa/Asmara America/Buenos_Aires=America/Argentina/Buenos_Aires
  America/Indianapolis=America/Indiana/Indianapolis America/Montreal=America/Toronto
  Asia/Saigon=Asia/Ho_Chi_Minh Asia/Katmandu=Asia/Kathmandu Asia/Rangoon=Asia/Yangon
  Asia/Tel_Aviv=Asia/Jerusalem Australia/ACT=Australia/Sydney Australia/West=Australia/Perth
  Brazil/East=America/Sao_Paulo Canada/Pacific=America/Vancouver CET=Europe/Brussels
  Chile/Continental=America/Santiago Cuba=America/Havana Egypt=Africa/Cairo Eire=Europe/Dublin
  EST5EDT=America/New_York GB=Europe/London Hongkong=Asia/Hong_Kong HST=Pacific/Honolulu
  Iran=Asia/Tehran Israel=Asia/Jerusalem Japan=Asia/Tokyo Mexico/General=America/Mexico_City
  MST=America/Phoenix Navajo=America/Denver NZ=Pacific/Auckland Poland=Europe/Warsaw
  Portugal=Europe/Lisbon PRC=Asia/Shanghai ROC=Asia/Taipei ROK=Asia/Seoul Singapore=Asia/Singapore
  Turkey=Europe/Istanbul UCT=UTC US/Aleutian=America/Adak US/Eastern=America/New_York
  US/Hawaii=Pacific/Honolulu W-SU=Europe/Moscow Zulu=UTC`;

test("aliases have the zones of the database", () => {
  const expected = links.trim().split(/\s+/);
  const found = expected.map((link) => link.split("=")[0]!).map((name) => `${name}=${toEngineZone(name)}`);
  expect(found).toEqual(expected);
});

test("the zone that stands for Chile's newest has its clock since that was made", () => {
  for (let month = 4; month < 60; month++) {
    const at = Temporal.Instant.from(
      `${2025 + Math.floor(month / 12)}-${`0${(month % 12) + 1}`.slice(-2)}-15T12:00:00Z`,
    );
    const [own, other] = ["America/Coyhaique", toEngineZone("America/Coyhaique")!];
    expect(at.toZonedDateTimeISO(own).offset).toBe(at.toZonedDateTimeISO(other).offset);
  }
});

test.each(hostileZones)("%j is no zone", (name) => {
  expect(toEngineZone(name)).toBeUndefined();
});

test("a stored zone is read in any case, and as UTC when it is none", () => {
  expect(readStoredZone("europe/berlin")).toBe("Europe/Berlin");
  expect(readStoredZone("us/PACIFIC")).toBe("America/Los_Angeles");
  expect(readStoredZone("utc")).toBe("UTC");
  expect(readStoredZone("Asia/Calcutta")).toBe("Asia/Kolkata");
  for (const name of hostileZones.filter(
    (hostile) => !/^(utc|etc\/utc|europe\/berlin|EUROPE\/BERLIN)$/i.test(hostile),
  ))
    expect(readStoredZone(name)).toBe("UTC");
});

const [own, first, second, third, fourth] = Intl.supportedValuesOf("timeZone") as [string, ...string[]] as [
  string,
  string,
  string,
  string,
  string,
];

test("a project adds its own zone and three more, and no others; what the engine has is free", () => {
  const zones = openEngineZones(100);
  for (const zone of [first, second, third]) expect(zones.admit(1, zone)).toBe(true);
  expect(zones.admit(1, fourth)).toBe(false);
  expect(zones.admit(1, own, true)).toBe(true);
  expect(zones.admit(1, fourth, true)).toBe(false);
  expect(zones.admit(2, fourth)).toBe(true);
  expect(zones.admit(1, fourth)).toBe(true);
  for (const zone of ["UTC", own, first, second, third]) expect(zones.admit(3, zone)).toBe(true);
});

test("a project that has its own zone from another has three more all the same", () => {
  const zones = openEngineZones(100);
  zones.admit(1, own, true);
  zones.admit(2, own, true);
  for (const zone of [first, second, third]) expect(zones.admit(2, zone)).toBe(true);
  expect(zones.admit(2, fourth)).toBe(false);
});

test("own zones of projects are admitted when the others have used their half", () => {
  const all = Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC");
  const zones = openEngineZones(60);
  const admitted = all.filter((zone, i) => zones.admit(i, zone));
  expect(admitted).toHaveLength(30);
  expect(all.filter((zone, i) => zones.admit(1000 + i, zone, true))).toHaveLength(59);
  expect(all.filter((zone, i) => zones.admit(2000 + i, zone))).toHaveLength(59);
});

test("zones take a quarter of the smallest engine's memory at most, and all fit a machine of 24 GB", () => {
  const smallest = countFittingZones(2 * 1024 ** 3);
  expect(smallest * clickhouseLimits.zoneBytes).toBeLessThanOrEqual(embeddedLimits.engineMemoryBytesMin / 4);
  expect(smallest).toBe(80);
  expect(countFittingZones(24 * 1024 ** 3)).toBeGreaterThan(Intl.supportedValuesOf("timeZone").length);
});
