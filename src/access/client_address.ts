// The address of a request's client: the peer of the connection, or what trusted proxies report.

import ipaddr from "ipaddr.js";
import type { Log } from "../core/log.ts";
import { accessLimits } from "./limits.ts";

/** Why a text is neither an address nor a network (10.0.0.0/8, fd00::/8); undefined when it is. */
export function wrongNetwork(text: string): string | undefined {
  return parseNetwork(text) ? undefined : `"${text}" is no IP address and no network like 10.0.0.0/8`;
}

/**
 * Each trusted proxy appends the address of its client to X-Forwarded-For: the client is the last entry that is not a
 * trusted proxy. Entries to the left of it come from the client and are not read.
 * @param options `trustedProxies`: addresses and networks, as wrongNetwork() accepts them.
 */
export function openClientAddress({ trustedProxies, log }: { trustedProxies: readonly string[]; log: Log }) {
  const isTrusted = within(trustedProxies);
  let hasWarned = false;
  const warn = (proxy: string) => {
    if (hasWarned) return;
    hasWarned = true;
    const why = "visitors without cookies who share a proxy and a browser count as one";
    log.warn(`X-Forwarded-For is ignored: TRUSTED_PROXIES does not name who sent it; ${why}`, { proxy });
  };
  /** @param peer the address of the connection's other end; undefined when unknown. */
  return (peer: string | undefined, headers: Headers): string | undefined => {
    let client = parseAddress(peer);
    const forwarded = headers.get("x-forwarded-for");
    if (!client || forwarded === null) return client?.toString();
    if (!isTrusted(client)) {
      warn(client.toString());
      return client.toString();
    }
    // Reads from right to left.
    for (const entry of forwarded.split(",").slice(-accessLimits.forwardedEntriesMax).toReversed()) {
      const before = parseAddress(entry);
      if (!before) break;
      client = before;
      if (!isTrusted(client)) break;
    }
    return client.toString();
  };
}

/** Whether the peer of a connection is one of the proxies. @param trustedProxies as wrongNetwork() accepts them. */
export function openProxies(trustedProxies: readonly string[]): (peer: string | undefined) => boolean {
  const isTrusted = within(trustedProxies);
  return (peer) => isTrusted(parseAddress(peer));
}

function within(trusted: readonly string[]): (address: Address | undefined) => boolean {
  const networks = trusted.map(parseNetwork).filter((network) => network !== undefined);
  return (address) =>
    networks.some(([base, bits]) => base.kind() === address?.kind() && address.match(base, bits));
}

type Address = ReturnType<typeof ipaddr.process>;

/** An entry as proxies write it, with or without port or brackets. IPv4 in IPv6 becomes IPv4. */
function parseAddress(text = ""): Address | undefined {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]{1,64})\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const ported = /^([\d.]{7,15}):\d{1,5}$/.exec(trimmed)?.[1];
  const bare = (bracketed ?? ported ?? trimmed).split("%")[0]!;
  if (bare.length > addressCharsMax) return undefined;
  const isWhole = bare.includes(":") ? ipaddr.IPv6.isValid(bare) : ipaddr.IPv4.isValidFourPartDecimal(bare);
  return isWhole ? ipaddr.process(bare) : undefined;
}

/** The longest form: an IPv6 address whose end is written as IPv4. */
const addressCharsMax = 45;

function parseNetwork(text: string): [base: Address, bits: number] | undefined {
  const [base, bits, ...rest] = text.split("/");
  const address = parseAddress(base);
  if (!address || rest.length > 0) return undefined;
  const bitsMax = address.kind() === "ipv4" ? 32 : 128;
  if (bits === undefined) return [address, bitsMax];
  return /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax ? [address, Number(bits)] : undefined;
}

/** The network that counts as one client: an IPv4 address, or an IPv6 network, since a household has 2^64 addresses. */
export function toClientNetwork(address: string): string {
  const parsed = parseAddress(address);
  if (parsed?.kind() !== "ipv6") return address;
  return parsed.toNormalizedString().split(":").slice(0, 4).join(":");
}
