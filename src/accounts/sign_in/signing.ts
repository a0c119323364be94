// What signing in, changing an account and accepting an invitation share: checks of passwords, and new sessions.

import type { SessionCookie } from "../../access/people/session.ts";
import { Fault } from "../../core/fault.ts";
import type { Uses } from "../../storage/services.ts";
import { type Attempts, checkedEmail, openAttempts } from "./attempts.ts";
import { openPasswords, type Passwords } from "./passwords.ts";
import { findSigningUser, type SigningUser, startSession } from "./session_store.ts";

export interface SigningOptions extends Uses<"sql" | "clock"> {
  sessions: SessionCookie;
  /** The address of a request's client. */
  addressOf: (request: Request) => string | undefined;
}

export interface Signing extends SigningOptions {
  passwords: Passwords;
  attempts: Attempts;
  /** Counts a try. @throws Fault throttled. */
  count(request: Request, email?: string): void;
  /**
   * The user of an address and a password.
   * @throws Fault throttled, unavailable, invalid_credentials,
   * invalid_input for what is no address.
   */
  authenticate(request: Request, email: string, password: string): Promise<SigningUser>;
  /** The reply that signs in: with a new session, in place of the browser's before. */
  signedIn(request: Request, user: { id: number; key_id?: string }, reply: Response): Promise<Response>;
}

export function openSigning(options: SigningOptions): Signing {
  const { sql, clock, sessions, addressOf } = options;
  const passwords = openPasswords();
  const attempts = openAttempts(clock);
  const count = (request: Request, email?: string) => attempts.count(addressOf(request), email);
  return {
    ...options,
    passwords,
    attempts,
    count,
    authenticate: async (request, email, password) => {
      const address = checkedEmail(email);
      count(request, address);
      const user = await findSigningUser(sql, address);
      const isRight = await passwords.matches(password, user?.password_hash);
      if (!user || !isRight) throw new Fault("invalid_credentials", "Invalid email or password.");
      return user;
    },
    signedIn: async (request, { id: user_id, key_id = null }, reply) => {
      const user_agent = request.headers.get("user-agent") ?? "";
      const replaces = sessions.presentedBy(request);
      const token = await startSession(sql, { user_id, personal_api_key_id: key_id, user_agent, replaces });
      reply.headers.set("set-cookie", sessions.set(token));
      reply.headers.set("cache-control", "no-store");
      return reply;
    },
  };
}
