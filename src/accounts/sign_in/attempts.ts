// How often somebody may try to sign in: counted by account and by address, in this process. Right tries count as well,
// so that many at once are no way around.

import { networkOfClient } from "../../access/client_address.ts";
import { openRateLimit } from "../../access/rate.ts";
import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { signInLimits } from "./limits.ts";

export interface Attempts {
  /**
   * Counts one try. `email`: of the account, if one is named.
   * @throws Fault throttled, with the time after which one more is allowed.
   */
  count(address: string | undefined, email?: string): void;
}

export function openAttempts(clock: Clock): Attempts {
  const { attemptsWindowMs: windowMs, attemptsKept: keysMax } = signInLimits;
  const byAddress = openRateLimit(signInLimits.addressAttemptsMax, clock, { windowMs, keysMax });
  const byAccount = openRateLimit(signInLimits.accountAttemptsMax, clock, { windowMs, keysMax });
  return {
    count: (address, email) => {
      byAddress.count(address === undefined ? "" : networkOfClient(address));
      if (email !== undefined) byAccount.count(normalizedEmail(email));
    },
  };
}

/** An address as it is compared and stored: addresses differ in more than their case for nobody. */
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
