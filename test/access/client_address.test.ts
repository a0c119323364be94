import { expect, test } from "bun:test";
import { openClientAddress, wrongNetwork } from "../../src/access/client_address.ts";
import { accessLimits } from "../../src/access/limits.ts";
import { silentLog } from "../../src/core/log.ts";

function addressOf(
  trustedProxies: string[],
  peer: string | undefined,
  forwarded?: string,
): string | undefined {
  const headers = new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
  return openClientAddress({ trustedProxies, log: silentLog })(peer, headers);
}

test("without trusted proxies the client is who is at the other end, whatever it says", () => {
  expect(addressOf([], "203.0.113.7")).toBe("203.0.113.7");
  expect(addressOf([], "203.0.113.7", "198.51.100.1")).toBe("203.0.113.7");
  expect(addressOf([], "::ffff:203.0.113.7", "198.51.100.1")).toBe("203.0.113.7");
  expect(addressOf([], undefined, "198.51.100.1")).toBeUndefined();
});

test("X-Forwarded-For is read from the right, as far as proxies are trusted: what a client forged is left of that", () => {
  const trusted = ["10.0.0.0/8", "192.0.2.1", "fd00::/8"];
  expect(addressOf(trusted, "10.1.2.3", "203.0.113.7")).toBe("203.0.113.7");
  expect(addressOf(trusted, "10.1.2.3", "1.1.1.1, 203.0.113.7")).toBe("203.0.113.7");
  expect(addressOf(trusted, "10.1.2.3", "1.1.1.1,203.0.113.7 , 10.9.9.9,192.0.2.1")).toBe("203.0.113.7");
  expect(addressOf(trusted, "203.0.113.99", "198.51.100.1")).toBe("203.0.113.99");
  expect(addressOf(trusted, "::ffff:10.1.2.3", "::ffff:203.0.113.7")).toBe("203.0.113.7");
  expect(addressOf(trusted, "fd12::1", "2001:DB8:0:0::1")).toBe("2001:db8::1");
  // All of them are trusted: the first one is a client within the network.
  expect(addressOf(trusted, "10.1.2.3", "10.0.0.5, 10.0.0.6")).toBe("10.0.0.5");
  expect(addressOf(["0.0.0.0/0"], "203.0.113.1", "1.1.1.1, 2.2.2.2")).toBe("1.1.1.1");
});

test("an entry may have a port or brackets; behind one that is no address nothing is believed", () => {
  const trusted = ["10.0.0.1"];
  const through = (entry: string) => addressOf(trusted, "10.0.0.1", `1.1.1.1, ${entry}`);
  expect(through("203.0.113.7:51234")).toBe("203.0.113.7");
  expect(through("[2001:db8::1]:51234")).toBe("2001:db8::1");
  expect(through("[2001:db8::1]")).toBe("2001:db8::1");
  expect(through("fe80::1%eth0")).toBe("fe80::1");
  for (const odd of [
    "",
    "unknown",
    "_hidden",
    "1.2.3",
    "0x7f.1",
    "2130706433",
    "1.2.3.4.5",
    "x".repeat(100_000),
  ]) {
    expect([odd.slice(0, 20), through(odd)]).toEqual([odd.slice(0, 20), "10.0.0.1"]);
  }
  const long = `203.0.113.7,${"10.0.0.1,".repeat(accessLimits.forwardedEntriesMax)}10.0.0.1`;
  expect(addressOf(trusted, "10.0.0.1", long)).toBe("10.0.0.1");
});

test("a proxy that is not trusted is reported to the operator once", () => {
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (...said: unknown[]) => void warned.push(said[1]) };
  const find = openClientAddress({ trustedProxies: ["10.0.0.1"], log });
  find("203.0.113.7", new Headers());
  expect(warned).toEqual([]);
  for (let i = 0; i < 3; i++) find("172.17.0.1", new Headers({ "x-forwarded-for": "1.1.1.1" }));
  expect(warned).toEqual([{ proxy: "172.17.0.1" }]);
});

test("a network is an address, or one with as many bits as it has", () => {
  for (const right of [
    "10.0.0.1",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "::1",
    "fd00::/8",
    "::ffff:10.0.0.1",
    "2001:db8::/128",
  ]) {
    expect([right, wrongNetwork(right)]).toEqual([right, undefined]);
  }
  for (const wrong of [
    "",
    "proxy",
    "10.0.0.1/33",
    "::1/129",
    "10.0.0.1/",
    "10.0.0.1/8/8",
    "10.0.0/8",
    "10.0.0.1/-1",
    "*",
  ]) {
    expect([wrong, wrongNetwork(wrong)]).toEqual([
      wrong,
      expect.stringContaining("no IP address") as unknown as string,
    ]);
  }
});
