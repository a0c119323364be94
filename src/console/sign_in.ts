// Signing in by a link: a code of the first start is exchanged for the first personal key, once.

import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import { randomBase62 } from "../core/id.ts";
import { consoleLimits } from "./limits.ts";

export type SignIn = ReturnType<typeof openSignIn>;

interface Offer {
  digest: Buffer;
  key: string;
  /** Milliseconds of clock.elapsed(). */
  until: number;
}

export function openSignIn(clock: Clock) {
  let offered: Offer | undefined;
  return {
    /** Returns a code that can be exchanged for `key`. Only the latest one is valid. */
    offer: (key: string) => {
      const code = randomBase62(43);
      offered = { digest: digestCode(code), key, until: clock.elapsed() + consoleLimits.signInMsMax };
      return code;
    },
    /**
     * Returns the key of a code, which is used up.
     * @throws Fault authentication_failed
     */
    exchange: (code: string) => {
      if (offered && clock.elapsed() > offered.until) offered = undefined;
      if (!offered || !timingSafeEqual(digestCode(code), offered.digest)) {
        throw new Fault("authentication_failed", usedUp);
      }
      const { key } = offered;
      offered = undefined;
      return key;
    },
  };
}

const usedUp =
  "This link was used already, or is older than an hour. Sign in with a personal API key; " +
  'a new one: bun run sluice key issue --label me --scopes "*"';

/** Digests have one length, so that the time of the comparison reveals nothing about the code. */
function digestCode(code: string): Buffer {
  return createHash("sha256").update(code).digest();
}
