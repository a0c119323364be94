import { expect, test } from "bun:test";
import { isPublicHost } from "../../src/core/public_host.ts";

test.each(["cdn.example", "a.b.cdn-1.example", "xn--bcher-kva.example", "shop.xn--p1ai", "1.2.3.4.example"])(
  "%s is a name of a host",
  (name) => {
    expect(isPublicHost(name)).toBe(true);
  },
);

const names =
  "localhost cdn 127.0.0.1 10.0.0.1 [::1] ::1 2130706433 0x7f.1 printer.local metadata.google.internal";
const others =
  "router.lan a.home.arpa cdn.example. .example a..example *.example https://cdn.example cdn.example/x";
const written = "cdn.example:443 me@cdn.example CDN.example -a.example a-.example a_b.example";
const odd = [
  "",
  "cdn.example\n",
  "cdn.example; script-src *",
  `${"a".repeat(64)}.example`,
  `${"a.".repeat(127)}example`,
];

test.each([...`${names} ${others} ${written}`.split(" "), ...odd])("%j is none", (name) => {
  expect(isPublicHost(name)).toBe(false);
});
