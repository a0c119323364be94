// The site of a host: www.example.co.uk and shop.example.co.uk belong to example.co.uk. The only file that knows tldts,
// which has the list of public suffixes.

import { getDomain } from "tldts";

/** A DNS name has at most 253 characters, and a port six more. */
const hostCharsMax = 260;

/**
 * The registrable domain of a host, with its port; a host without such a domain (an address, a local name) as it is.
 * `host` is what browsers call location.host. Undefined when it is empty or too long.
 */
export function siteOf(host: string): string | undefined {
  const trimmed = host.trim().toLowerCase();
  if (trimmed === "" || trimmed.length > hostCharsMax) return undefined;
  const url = URL.canParse(`http://${trimmed}`) ? new URL(`http://${trimmed}`) : undefined;
  if (!url) return trimmed;
  const domain = getDomain(url.hostname) ?? url.hostname;
  return url.port ? `${domain}:${url.port}` : domain;
}
