import { expect, test } from "bun:test";
import fc from "fast-check";
import { openAddresses } from "../../src/access/address.ts";

const guarded = openAddresses({ allowPrivate: false });
const open = openAddresses({ allowPrivate: true });

function resolving(addresses: string[]) {
  return openAddresses({ allowPrivate: false, resolve: async () => addresses });
}

test("an address of this machine, of a private network or of none is refused, however it is spelled", () => {
  const own = [
    "127.0.0.1 127.1 127.8.9.10 0x7f.1 0x7f000001 2130706433 0177.0.0.1 017700000001 0 0.0.0.0 127.0.0.1.",
    "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 3232235777 0xa9fe.0xa9fe 169.254.169.254",
    "100.64.0.1 100.127.255.255 192.0.0.8 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 192.0.2.1",
    "::1 [::1] :: 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 [::ffff:10.0.0.1] ::ffff:a9fe:a9fe ::127.0.0.1 fe80::1",
    "fc00::1 fd12:3456::1 ff02::1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 2002:7f00:1:: fec0::1 2001:db8::1",
    "localhost LOCALHOST localhost. foo.localhost ip6-localhost metadata.google.internal １２７.0.0.1 127。0。0。1",
  ].join(" ");
  const passed = own.split(" ").filter((host) => guarded.findRefusal(host) === undefined);
  expect(passed).toEqual([]);
});

test("a public address and a name pass without being looked up", () => {
  const passing =
    "8.8.8.8 134744072 [2606:4700::1111] 2606:4700::1111 ::ffff:8.8.8.8 example.com s3.amazonaws.com";
  expect(passing.split(" ").filter((host) => guarded.findRefusal(host) !== undefined)).toEqual([]);
  expect(guarded.findRefusal("no-such-name.invalid")).toBeUndefined();
});

test("what is no host is refused, even where private ones are allowed", () => {
  const none = [
    "",
    " ",
    "a b",
    "/var/run/postgresql",
    "a/b",
    "user@host",
    "host?x",
    "host#x",
    "a,b",
    "{a,b}",
    "a|b",
    "host:5432",
    "[::1",
    "1.2.3.4.5",
    "999.1.1.1",
    "a..b",
    "fe80::1%eth0",
    "x".repeat(300),
    "a\u0000b",
    "'",
    "a'b",
    "a\\b",
    "%31",
    "-a",
    "a-",
    "*",
  ];
  expect(none.filter((host) => open.findRefusal(host) === undefined)).toEqual([]);
  expect(none.filter((host) => guarded.findRefusal(host) === undefined)).toEqual([]);
});

test("an operator who allows private addresses gets them", async () => {
  expect(open.findRefusal("127.0.0.1")).toBeUndefined();
  expect(open.findRefusal("localhost")).toBeUndefined();
  expect(await open.connectable("127.1")).toBe("127.0.0.1");
  expect(await open.connectable("[::1]")).toBe("::1");
});

test("connecting resolves the name, and refuses one that also has an inner address", async () => {
  expect(await resolving(["8.8.8.8", "1.1.1.1"]).connectable("example.com")).toBe("8.8.8.8");
  const inside = resolving(["8.8.8.8", "10.0.0.1"]).connectable("example.com");
  await expect(inside).rejects.toThrow('The host "example.com" is a private or local address');
  const nowhere = resolving([]).connectable("example.com");
  await expect(nowhere).rejects.toThrow('The host "example.com" does not resolve');
  const failing = openAddresses({
    allowPrivate: false,
    resolve: () => Promise.reject(new Error("ENOTFOUND")),
  });
  await expect(failing.connectable("example.com")).rejects.toThrow('"example.com" does not resolve');
  await expect(guarded.connectable("192.168.0.1")).rejects.toThrow('"192.168.0.1"');
});

test("storing a host looks its name up, and lets one pass that does not resolve", async () => {
  expect(await resolving(["127.0.0.1"]).findResolvedRefusal("inside.example.com")).toContain("private");
  expect(await resolving(["8.8.8.8"]).findResolvedRefusal("example.com")).toBeUndefined();
  expect(await resolving([]).findResolvedRefusal("nowhere.example.com")).toBeUndefined();
  expect(await resolving(["8.8.8.8"]).findResolvedRefusal("127.0.0.1")).toContain("private");
});

test("a caller who resolves names may resolve only names that were checked", async () => {
  expect(await resolving(["8.8.8.8"]).lookedAt("example.com")).toBe("8.8.8.8");
  await expect(resolving(["127.0.0.1"]).lookedAt("inside.example.com")).rejects.toThrow("private");
  await expect(resolving([]).lookedAt("nowhere.example.com")).rejects.toThrow("does not resolve");
  expect(await open.lookedAt("known-to-the-engine-only.invalid")).toBeUndefined();
});

test("no spelling of a private IPv4 address passes", () => {
  const part = (radix: number, value: number) =>
    radix === 16 ? `0x${value.toString(16)}` : radix === 8 ? `0${value.toString(8)}` : String(value);
  const radix = fc.constantFrom(8, 10, 16);
  const first = fc.constantFrom([127, 0], [10, 1], [192, 168], [172, 20], [169, 254], [100, 100]);
  const spelled = fc
    .tuple(first, fc.nat(255), fc.nat(255), fc.array(radix, { minLength: 4, maxLength: 4 }), fc.nat(3))
    .map(([[a = 0, b = 0], c, d, [r0 = 10, r1 = 10, r2 = 10, r3 = 10], joined]) => {
      const rest =
        [d, c * 256 + d, (b * 256 + c) * 256 + d, ((a * 256 + b) * 256 + c) * 256 + d][joined] ?? d;
      const heads = [part(r0, a), part(r1, b), part(r2, c)].slice(0, 3 - joined);
      return [...heads, part(r3, rest)].join(".");
    });
  fc.assert(fc.property(spelled, (host) => guarded.findRefusal(host) !== undefined));
});

test("anything at all is answered, and what passes is made of harmless characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (host) => {
      if (guarded.findRefusal(host) !== undefined) return true;
      return !/[\s'"`\\(){},|/?#@*]/.test(host);
    }),
  );
});
