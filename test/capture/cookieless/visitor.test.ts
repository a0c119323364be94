import { expect, test } from "bun:test";
import { toSite } from "../../../src/capture/cookieless/visitor.ts";

test("hosts of one registrable domain are one site, ports tell sites apart", () => {
  for (const [host, site] of [
    ["example.com", "example.com"],
    ["www.example.com", "example.com"],
    ["A.B.Example.CO.UK", "example.co.uk"],
    ["www.example.com:8080", "example.com:8080"],
    ["www.example.com:80", "example.com"],
    ["bücher.example.de", "example.de"],
    ["localhost:3000", "localhost:3000"],
    ["shop", "shop"],
    ["192.0.2.1:81", "192.0.2.1:81"],
    ["[2001:db8::1]:81", "[2001:db8::1]:81"],
    ["co.uk", "co.uk"],
    [" example.com ", "example.com"],
  ] as const) {
    expect([host, toSite(host)]).toEqual([host, site]);
  }
});

test("what is no host is a site of its own, if it is not longer than any host", () => {
  expect(toSite("not a host")).toBe("not a host");
  expect(toSite("[::1")).toBe("[::1");
  expect([toSite(""), toSite("  "), toSite("x".repeat(261))]).toEqual([undefined, undefined, undefined]);
});
