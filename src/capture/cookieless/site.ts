// The site that a host belongs to: www.example.co.uk and shop.example.co.uk are of example.co.uk. The only file that
// knows tldts, which has the list of public suffixes.

import { getDomain } from "tldts";

/** A name of DNS has 253 characters at most; a port six more. */
const hostCharsMax = 260;

/**
 * The registrable domain of a host, and its port if it has one; a host that has none (an address, a name within a
 * network) as it is. `host` is what browsers call location.host. Undefined for one that is longer than any host.
 */
export function siteOf(host: string): string | undefined {
  const trimmed = host.trim().toLowerCase();
  if (trimmed === "" || trimmed.length > hostCharsMax) return undefined;
  const url = URL.canParse(`http://${trimmed}`) ? new URL(`http://${trimmed}`) : undefined;
  if (!url) return trimmed;
  const domain = getDomain(url.hostname) ?? url.hostname;
  return url.port ? `${domain}:${url.port}` : domain;
}
