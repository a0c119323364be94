// Checks of passwords, and new sessions, for signing in, changing an account and accepting an invitation.

import { toClientNetwork } from "../../access/client_address.ts";
import { openCookie, type SessionCookie } from "../../access/people/session.ts";
import { openRateLimit } from "../../access/rate.ts";
import type { Secrets } from "../../access/secret.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { randomBase62 } from "../../core/id.ts";
import type { Uses } from "../../storage/services.ts";
import { signInLimits } from "./limits.ts";
import { openPasswords } from "./passwords.ts";
import { type Signer, startSession } from "./session_store.ts";
import { findSigningUser } from "./user_store.ts";

export interface SigningOptions extends Uses<"sql" | "clock"> {
  sessions: SessionCookie;
  secrets: Secrets;
  siteUrl: string | undefined;
  readAddress: (request: Request) => string | undefined;
}

export type Signing = ReturnType<typeof openSigning>;

export function openSigning(options: SigningOptions) {
  const { sql, clock, sessions, readAddress } = options;
  const passwords = openPasswords(clock);
  const attempts = openAttempts(clock);
  const browsers = openKnownBrowsers(options.secrets, options.siteUrl);
  return {
    ...options,
    passwords,
    /** Counts an attempt of a user who is signed in. @throws Fault throttled. */
    countOwn: ({ id, email }: { id: number; email: string }) =>
      attempts.count(undefined, email, `user ${id}`),
    /**
     * The user of an address and a password.
     * @throws Fault throttled, unavailable, invalid_credentials, invalid_input for what is no address.
     */
    authenticate: async (request: Request, emailText: string, password: string) => {
      const email = checkedEmail(emailText);
      const known = browsers.readId(request, email);
      const caller = attempts.count(readAddress(request), email, known);
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
      const token = await startSession(sql, signer, { user_agent, replaces: sessions.presentedBy(request) });
      if (token === undefined) throw "key" in signer ? invalidKey() : invalidPassword();
      reply.headers.append("set-cookie", sessions.set(token));
      if ("email" in signer) reply.headers.append("set-cookie", browsers.cookieFor(request, signer.email));
      reply.headers.set("cache-control", "no-store");
      return reply;
    },
  };
}

const invalidPassword = () => new Fault("invalid_credentials", "Invalid email or password.");

export function invalidKey(): Fault {
  const detail = "This personal API key is not valid. It may be mistyped, expired or revoked.";
  return new Fault("invalid_credentials", detail, { attr: "personal_api_key" });
}

// Browsers in which an account has signed in, known by a cookie that grants no access: attempts from elsewhere do not
// count against them, so that no stranger can lock a user out of a browser in use. OWASP calls it a device cookie.

/** @param secrets seal the cookie, so that it cannot be forged. */
function openKnownBrowsers(secrets: Secrets, siteUrl: string | undefined) {
  const { text, valueIn } = openCookie("sluice_browser", siteUrl);
  const readId = (request: Request, email: string): string | undefined => {
    const value = valueIn(request) ?? "";
    if (value === "" || value.length > signInLimits.browserCookieCharsMax) return undefined;
    try {
      const known = secrets.open(Buffer.from(value, "base64url"));
      return known["email"] === email && typeof known["browser"] === "string" ? known["browser"] : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    /** The Set-Cookie of a browser in which the account of a normalized address signs in. Its id stays the same. */
    cookieFor: (request: Request, email: string) => {
      const sealed = secrets.seal({ browser: readId(request, email) ?? randomBase62(22), email });
      return text(Buffer.from(sealed).toString("base64url"), signInLimits.browserKnownSeconds);
    },
    /** The id of the request's browser; undefined when the account of the address has not signed in there. */
    readId,
  };
}

/**
 * Bounds attempts to sign in, by account and by address, in this process. Successful attempts count, too, so that many
 * at once do not evade the bound. Known users are counted separately, so that strangers cannot block them; an address
 * with many attempts is slowed and not refused, since it may be a proxy's.
 */
export function openAttempts(clock: Clock) {
  const { attemptsWindowMs: windowMs, attemptsKept: keysMax } = signInLimits;
  const limit = (attempts: number) => openRateLimit(attempts, clock, { windowMs, keysMax });
  const byAddress = limit(signInLimits.addressAttemptsMax);
  const byBoth = limit(signInLimits.accountAttemptsMax);
  const byAccount = limit(signInLimits.accountAttemptsAnywhereMax);
  const byKnown = limit(signInLimits.accountAttemptsMax);
  return {
    /**
     * Counts one attempt, and returns for whom: the owner of a place in a queue of passwords.
     * @param address the client's, where it is known. @param email the account's. @param known the id of a proved owner
     *   of the account: a browser in which it signed in, or a user with a session or a key.
     * @throws Fault throttled, with the time after which one more is allowed.
     */
    count: (address: string | undefined, email: string, known?: string) => {
      if (known !== undefined) {
        byKnown.count(known);
        return { owner: known, isKnown: true };
      }
      const client = address === undefined ? "" : toClientNetwork(address);
      const account = normalizedEmail(email);
      const owner = `${client} ${account}`;
      byBoth.count(owner);
      byAccount.count(account);
      if (byAddress.read(client).remaining <= 0) return { owner, isKnown: false, isSlowed: true };
      byAddress.count(client);
      return { owner: client, isKnown: false };
    },
  };
}

/** An address as it is compared and stored: case does not distinguish addresses. */
export function normalizedEmail(email: string): string {
  return email.trim().normalize("NFKC").toLowerCase();
}

/** The normalized address of a field. @throws Fault invalid_input for what is no address. */
export function checkedEmail(email: string, attr = "email"): string {
  const address = normalizedEmail(email);
  const fits = [...address].length <= signInLimits.emailCharsMax && /^[^\s@<>"]+@[^\s@<>"]+$/.test(address);
  if (fits && !address.includes("\0")) return address;
  return refuseInput("Enter a valid email address.", attr);
}
