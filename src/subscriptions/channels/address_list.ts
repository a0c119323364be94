// E-mail addresses as a target_value lists them. Never takes one that could end a header or begin another.

/** What stands between the commas, trimmed, each once. */
export function addressesIn(value: string): string[] {
  const named = value.split(",").map((one) => one.trim());
  return [...new Set(named.filter(Boolean))];
}

/**
 * An address that can be written to: one at sign, no blanks, controls, quotes, brackets or separators, a domain of
 * labels. Comments, quoted locals and literal domains of the standard are refused: nobody has one.
 */
export function isAddress(text: string): boolean {
  if (text.length > 254) return false;
  const [local = "", domain = "", ...more] = text.split("@");
  if (more.length > 0 || local.length > 64) return false;
  return (
    isLocal(local) && /^[\p{L}\p{N}]([\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(domain) && !domain.includes("..")
  );
}

function isLocal(local: string): boolean {
  return /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]+$/u.test(local) && !/^\.|\.$|\.\./.test(local);
}

/** The list without one address; empty when it was the only one. */
export function withoutAddress(value: string, address: string): string {
  return addressesIn(value)
    .filter((one) => one.toLowerCase() !== address.toLowerCase())
    .join(",");
}
