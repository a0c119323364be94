// Bounds attempts to sign in, by account and by address, in this process. Successful attempts count, too, so that many
// at once do not evade the bound. Known users are counted separately, so that strangers cannot block them; an address
// with many attempts is slowed and not refused, since it may be a proxy's.

import { networkOfClient } from "../../access/client_address.ts";
import { openRateLimit } from "../../access/rate.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { signInLimits } from "./limits.ts";

export interface Attempt {
  /** The client's address, where it is known. */
  address: string | undefined;
  /** The address of the account. */
  email: string;
  /** The id of a proved owner of the account: a browser in which it signed in, or a user with a session or a key. */
  known?: string | undefined;
}

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
     * @throws Fault throttled, with the time after which one more is allowed.
     */
    count: ({ address, email, known }: Attempt) => {
      if (known !== undefined) {
        byKnown.count(known);
        return { owner: known, isKnown: true };
      }
      const client = address === undefined ? "" : networkOfClient(address);
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
  throw new Fault("invalid_input", "Enter a valid email address.", { attr });
}
