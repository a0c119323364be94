// Checks of passwords, and new sessions, for signing in, changing an account and accepting an invitation.

import { openCookie, type SessionCookie } from "../../access/people/session.ts";
import type { Secrets } from "../../access/secret.ts";
import { Fault } from "../../core/fault.ts";
import { randomBase62 } from "../../core/id.ts";
import type { Uses } from "../../storage/services.ts";
import { checkedEmail, openAttempts } from "./attempts.ts";
import { signInLimits } from "./limits.ts";
import { openPasswords } from "./passwords.ts";
import { findSigningUser, type Signer, startSession } from "./session_store.ts";

export interface SigningOptions extends Uses<"sql" | "clock"> {
  sessions: SessionCookie;
  secrets: Secrets;
  /** SITE_URL. */
  siteUrl: string | undefined;
  /** The address of a request's client. */
  addressOf: (request: Request) => string | undefined;
}

export type Signing = ReturnType<typeof openSigning>;

export function openSigning(options: SigningOptions) {
  const { sql, clock, sessions, addressOf } = options;
  const passwords = openPasswords(clock);
  const attempts = openAttempts(clock);
  const browsers = openKnownBrowsers(options.secrets, options.siteUrl);
  return {
    ...options,
    passwords,
    /** Counts an attempt of a user who is signed in. @throws Fault throttled. */
    countOwn: ({ id, email }: { id: number; email: string }) =>
      attempts.count({ address: undefined, email, known: `user ${id}` }),
    /**
     * The user of an address and a password.
     * @throws Fault throttled, unavailable, invalid_credentials, invalid_input for what is no address.
     */
    authenticate: async (request: Request, given: string, password: string) => {
      const email = checkedEmail(given);
      const known = browsers.idOf(request, email);
      const caller = attempts.count({ address: addressOf(request), email, known });
      const user = await findSigningUser(sql, email);
      const isRight = await passwords.matches(password, user?.password_hash, caller);
      if (!user?.password_hash || !isRight) throw invalidPassword();
      return { user_id: user.id, email, password_hash: user.password_hash };
    },
    /**
     * The reply that signs in, with a new session that replaces the browser's previous one.
     * @throws Fault invalid_credentials when the password was changed, or the key rolled or revoked, meanwhile.
     */
    signedIn: async (request: Request, signer: Signer, reply: Response) => {
      const user_agent = request.headers.get("user-agent") ?? "";
      const replaces = sessions.presentedBy(request);
      const token = await startSession(sql, signer, { user_agent, replaces });
      if (token === undefined) throw "key" in signer ? invalidKey() : invalidPassword();
      reply.headers.append("set-cookie", sessions.set(token));
      if ("email" in signer) reply.headers.append("set-cookie", browsers.cookieFor(request, signer.email));
      reply.headers.set("cache-control", "no-store");
      return reply;
    },
  };
}

function invalidPassword(): Fault {
  return new Fault("invalid_credentials", "Invalid email or password.");
}

export function invalidKey(): Fault {
  const detail = "This personal API key is not valid. It may be mistyped, expired or revoked.";
  return new Fault("invalid_credentials", detail, { attr: "personal_api_key" });
}

// Browsers in which an account has signed in, known by a cookie that grants no access: attempts from elsewhere do not
// count against them, so that no stranger can lock a user out of a browser in use. OWASP calls it a device cookie.

/** @param secrets seal the cookie, so that it cannot be forged. */
function openKnownBrowsers(secrets: Secrets, siteUrl: string | undefined) {
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
