// Names of hosts on the internet.

import { wordsIn } from "./words.ts";

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The last label is never a number, so that no address is a name. */
const lastLabel = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{1,58}[a-z0-9])$/;

/** Hosts that recordings of a project may load from: a header of the player's page lists them. */
export const loadHostsMax = 20;

/** Names that are resolved within a house, a machine or not at all. */
const localEnds: ReadonlySet<string> = new Set(
  wordsIn("local localhost localdomain internal intranet lan home corp private invalid test onion arpa alt"),
);

/**
 * Whether a text is only the name of a host, in lower case: no address, no name of a local network, no port and no
 * scheme. The name is not resolved.
 */
export function isPublicHost(text: string): boolean {
  if (text.length > 253) return false;
  const labels = text.split(".");
  const last = labels.pop() ?? "";
  const isNamed = labels.length > 0 && labels.every((name) => label.test(name));
  return isNamed && lastLabel.test(last) && !localEnds.has(last);
}
