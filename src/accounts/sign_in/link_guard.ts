// The guard of links' passwords: hashed, counted and slowed as those of accounts, but that many know one. So only wrong
// ones count, and a link with many wrong ones is slowed and not refused: who tries has the token, and may not shut
// others out.

import { toClientNetwork } from "../../access/client_address.ts";
import { openRateLimit } from "../../access/rate.ts";
import { unavailable } from "../../core/fault.ts";
import type { LinkGuard } from "../../sharing/passwords.ts";
import { Tally } from "../../work/maps.ts";
import { signInLimits } from "./limits.ts";
import { openPasswords } from "./passwords.ts";
import type { SigningOptions } from "./signing.ts";

export function openLinkGuard({
  clock,
  readAddress,
}: Pick<SigningOptions, "clock" | "readAddress">): LinkGuard {
  const passwords = openPasswords(clock);
  const { attemptsWindowMs: windowMs, attemptsKept: keysMax } = signInLimits;
  const limit = (tries: number) => openRateLimit(tries, clock, { windowMs, keysMax });
  const byBoth = limit(signInLimits.accountAttemptsMax);
  const byLink = limit(signInLimits.accountAttemptsAnywhereMax);
  const byAddress = limit(signInLimits.addressAttemptsMax);
  const inFlight = new Tally<string>();
  return {
    hash: (password, user_id) => passwords.hash(password, { owner: `user ${user_id}`, isKnown: true }),
    find: async ({ request, link, password }, listRows) => {
      const owner = toClientNetwork(readAddress(request) ?? "");
      const both = `${owner} ${link}`;
      // Those in flight hold a try each, and right ones among them give it back in a moment.
      if (inFlight.of(both) > 0 && byBoth.read(both).remaining <= 0)
        throw unavailable("Too many people open this link at this moment. Try again.", 1);
      byBoth.count(both);
      const isFull = byLink.read(link).remaining <= 0 || byAddress.read(owner).remaining <= 0;
      // Counted before the hash, so that many at once do not evade the bound.
      const counted = isFull
        ? []
        : ([
            [byLink, link],
            [byAddress, owner],
          ] as const);
      for (const [tries, key] of counted) tries.count(key);
      const caller = { owner, isKnown: false, isSlowed: isFull };
      let isWrong = false;
      inFlight.add(both, 1);
      try {
        for (const row of await listRows()) {
          isWrong = !(await passwords.matches(password, row.password_hash, caller));
          if (!isWrong) return row;
        }
        isWrong = true;
        return undefined;
      } finally {
        inFlight.add(both, -1);
        // A right one, and one that nothing was compared with.
        if (!isWrong) for (const [tries, key] of [[byBoth, both] as const, ...counted]) tries.uncount(key);
      }
    },
  };
}
