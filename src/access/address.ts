// Decides which hosts the server may connect to on a user's behalf.

import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import { withinMs } from "../core/clock.ts";
import { accessLimits } from "./limits.ts";

export type Addresses = ReturnType<typeof openAddresses>;

/**
 * The rules for addresses.
 * @param options `allowPrivate`: whether private addresses are allowed, a setting of the operator. `resolve`: all
 *   addresses of a name, by the system's resolver unless a test has its own.
 */
export function openAddresses({
  allowPrivate,
  resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
}: {
  allowPrivate: boolean;
  resolve?: (name: string) => Promise<string[]>;
}) {
  const findRefusal = (host: string): string | undefined => {
    const plain = plainHost(host);
    if (plain === undefined) return `"${host}" is not a host name or an address.`;
    return allowPrivate || !isOwn(plain) ? undefined : refusal(host);
  };
  const resolveAddresses = async (host: string): Promise<string[]> => {
    const plain = plainHost(host) ?? "";
    if (ipaddr.isValid(plain)) return [plain];
    return await withinMs(resolve(plain), accessLimits.resolveMsMax).catch(() => []);
  };
  const isRefused = (address: string): boolean => !allowPrivate && isOwn(address);
  const connectable = async (host: string): Promise<string> => {
    const refused = findRefusal(host);
    if (refused !== undefined) throw new Error(refused);
    const addresses = await resolveAddresses(host);
    // A private address among public ones is a known attack (DNS rebinding).
    if (addresses.some(isRefused)) throw new Error(refusal(host));
    const [address] = addresses;
    if (address === undefined) throw new Error(`The host "${host}" does not resolve to an address.`);
    return address;
  };
  return {
    /**
     * Why a host must not be connected to, as a sentence; undefined when it may be. The name is not resolved: it is
     * refused only if it can only mean this machine. Takes the host of a URL (also `[::1]`) or of a host field.
     */
    findRefusal,
    /**
     * An address of the host, which the caller connects to: a second resolution may return another one.
     * @throws Error that names the host, when it is refused or does not resolve.
     */
    connectable,
    /**
     * For a client that resolves the name itself, just before it does. A name that does not resolve here was not
     * checked, and may resolve there.
     * @returns an address to use in place of the host where that is possible; undefined where any will do.
     * @throws Error like connectable, but for a name that does not resolve only where private addresses are refused.
     */
    lookedAt: async (host: string) => (allowPrivate ? undefined : await connectable(host)),
    /**
     * Variant of findRefusal(), with the name resolved; one that does not resolve within accessLimits.resolveMsMax
     * passes. For a request that stores the host: `connectable` checks again when it is used.
     */
    findResolvedRefusal: async (host: string) => {
      const refused = findRefusal(host);
      if (refused !== undefined || allowPrivate) return refused;
      return (await resolveAddresses(host)).some(isRefused) ? refusal(host) : undefined;
    },
  };
}

function refusal(host: string): string {
  return `The host "${host}" is a private or local address, which this server does not connect to.`;
}

function isName(name: string): boolean {
  if (name.length > 253) return false;
  return name
    .split(".")
    .every((label) => /^[a-z0-9_-]+$/.test(label) && !label.startsWith("-") && !label.endsWith("-"));
}

/**
 * A host as resolvers read it: 0x7f.1, 2130706433 and 0177.0.0.1 are all 127.0.0.1. Undefined when it is no host; other
 * characters are refused, since a statement might read them as a pattern.
 */
function plainHost(host: string): string | undefined {
  if (host.length > 300 || /[\s/\\?#@%]/.test(host)) return undefined;
  const bare = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  if (bare.includes(":")) return ipaddr.IPv6.isValid(bare) ? ipaddr.IPv6.parse(bare).toString() : undefined;
  if (bare !== host || !URL.canParse(`http://${bare}/`)) return undefined;
  const name = new URL(`http://${bare}/`).hostname.replace(/\.$/, "");
  return isName(name) ? name : undefined;
}

/** Names that mean this machine or its host everywhere. */
const ownNames =
  /(^|\.)(localhost|localhost\.localdomain|localhost[46]|ip6-localhost|ip6-loopback|metadata\.google\.internal)$/;

/** Whether it is an address outside the public internet, or a name that can only be one. */
function isOwn(plain: string): boolean {
  if (!ipaddr.isValid(plain)) return ownNames.test(plain);
  const address = ipaddr.parse(plain);
  const inner = address.kind() === "ipv6" ? innerAddress(address.toByteArray()) : undefined;
  return (inner ? new ipaddr.IPv4(inner) : address).range() !== "unicast";
}

/** The IPv4 address in an IPv6 address: ::ffff:a.b.c.d, or the old form ::a.b.c.d. */
function innerAddress(bytes: number[]): number[] | undefined {
  const head = bytes.slice(0, 10).every((byte) => byte === 0);
  const prefix = `${bytes[10]},${bytes[11]}`;
  return head && (prefix === "255,255" || prefix === "0,0") ? bytes.slice(12) : undefined;
}
