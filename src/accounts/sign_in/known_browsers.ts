// Browsers in which an account has signed in, known by a cookie that grants no access: attempts from elsewhere do not
// count against them, so that no stranger can lock a user out of a browser in use. OWASP calls it a device cookie.

import { openCookie } from "../../access/people/session.ts";
import type { Secrets } from "../../access/secret.ts";
import { randomBase62 } from "../../core/id.ts";
import { signInLimits } from "./limits.ts";

export type KnownBrowsers = ReturnType<typeof openKnownBrowsers>;

/** @param secrets seal the cookie, so that it cannot be forged. */
export function openKnownBrowsers(secrets: Secrets, siteUrl: string | undefined) {
  const { text, valueIn } = openCookie("sluice_browser", siteUrl);
  const idOf = (request: Request, email: string): string | undefined => {
    const value = valueIn(request);
    const known = value === undefined ? undefined : unseal(secrets, value);
    return known?.["email"] === email && typeof known["browser"] === "string" ? known["browser"] : undefined;
  };
  return {
    /** The Set-Cookie of a browser in which the account of a normalized address signs in. Its id stays the same. */
    cookieFor: (request: Request, email: string) => {
      const sealed = secrets.seal({ browser: idOf(request, email) ?? randomBase62(22), email });
      return text(Buffer.from(sealed).toString("base64url"), signInLimits.browserKnownSeconds);
    },
    /** The id of the request's browser; undefined when the account of the address has not signed in there. */
    idOf,
  };
}

function unseal(secrets: Secrets, value: string): Record<string, unknown> | undefined {
  if (value.length > signInLimits.browserCookieCharsMax) return undefined;
  try {
    return secrets.open(Buffer.from(value, "base64url"));
  } catch {
    return undefined;
  }
}
