// The e-mail addresses of a target_value. An address that could break a mail header is not valid.

/** The addresses between the commas, trimmed, each once in whatever case; they are not checked. */
export function addressesIn(value: string): string[] {
  const named = value.split(",").map((name) => name.trim());
  const lower = named.map((name) => name.toLowerCase());
  return named.filter((name, i) => name && lower.indexOf(lower[i]!) === i);
}

/**
 * Whether the text is an address: one at sign, no blanks, controls, quotes, brackets or separators, a domain of labels.
 * The comments, quoted local parts and literal domains of RFC 5322 are refused, since real addresses have none,
 * and so is an encoded word (=?…?=), which some mail servers read.
 */
export function isAddress(text: string): boolean {
  if (text.length > 254) return false;
  const [local = "", domain = "", ...more] = text.split("@");
  if (more.length > 0 || local.length > 64) return false;
  if (!/^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~.-]+$/u.test(local) || /^\.|\.$|\.\.|=\?/.test(local)) return false;
  return /^[\p{L}\p{N}]([\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(domain) && !domain.includes("..");
}

/** The list without one address; empty when it was the only one. Upper and lower case are equal. */
export function withoutAddress(value: string, address: string): string {
  return addressesIn(value)
    .filter((name) => name.toLowerCase() !== address.toLowerCase())
    .join(",");
}
