import { expect, test } from "bun:test";
import { countryName, findCountry } from "../../../../src/console/app/overview/countries.ts";

test("a time zone has its country under its newer name and its older one", () => {
  const pairs = [
    ["Asia/Kolkata", "Asia/Calcutta"],
    ["Europe/Kyiv", "Europe/Kiev"],
    ["Asia/Ho_Chi_Minh", "Asia/Saigon"],
    ["America/Argentina/Buenos_Aires", "America/Buenos_Aires"],
    ["America/Indiana/Indianapolis", "America/Indianapolis"],
    ["America/Nuuk", "America/Godthab"],
  ];
  expect(pairs.map((names) => names.map(findCountry))).toEqual([
    ["IN", "IN"],
    ["UA", "UA"],
    ["VN", "VN"],
    ["AR", "AR"],
    ["US", "US"],
    ["GL", "GL"],
  ]);
});

test("every zone of a continent that the engine knows has a country", () => {
  const places = Intl.supportedValuesOf("timeZone").filter((zone) =>
    /^(?:Africa|America|Asia|Europe)\//.test(zone),
  );
  expect(places.length).toBeGreaterThan(300);
  expect(places.filter((zone) => findCountry(zone) === undefined)).toEqual([]);
});

test("a zone of no country and a text that is no zone have none", () => {
  expect(["UTC", "Etc/GMT+5", "Mars/Olympus", ""].map(findCountry)).toEqual(Array(4).fill(undefined));
});

test("a code is its country's name, and what is no code stays as it is", () => {
  expect(["DE", "fr", "XX", "no code", ""].map(countryName)).toEqual([
    "Germany",
    "France",
    "XX",
    "no code",
    "",
  ]);
});
