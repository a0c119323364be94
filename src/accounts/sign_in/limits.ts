// Limits of signing in, with their units and reasons.

import { limits } from "../../core/limits.ts";

export const signInLimits = {
  /** Characters of a password: shorter ones can be guessed, longer ones are no safer. */
  passwordCharsMin: 8,
  passwordCharsMax: 128,
  /** Bytes of a password as it is hashed: normalized text may be longer than what was typed. */
  passwordBytesMax: 1024,
  /** Characters of an e-mail address, as mail servers have it. */
  emailCharsMax: 254,
  /** Memory of one hash, in KiB, and passes over it: OWASP's least for argon2id, 25 ms of a core. */
  hashKibibytes: 19_456,
  hashPasses: 2,
  /**
   * Passwords hashed at once, and those that wait, of strangers and as many of known users: events are captured
   * meanwhile. One address gets half of the free places in the queue.
   */
  hashesMax: 1,
  hashesWaitingMax: 32,
  /** How long a password waits for its hash, in ms. */
  hashWaitMsMax: 5000,
  /** The pause after a stranger's hash, as a multiple of its duration: all strangers get a quarter of one core. */
  strangersRestFactor: 3,
  /** The longest pause, in ms: where hashing is slow because the machine is busy, longer pauses would not help. */
  strangersRestMsMax: 300,
  /**
   * Attempts in any attemptsWindowMs, of strangers: for one account, whether it exists or not, from one address; and
   * for one account from all addresses. Known users have the first number, each counted alone.
   */
  accountAttemptsMax: 10,
  accountAttemptsAnywhereMax: 50,
  /** Attempts of strangers from one address in any attemptsWindowMs before its next ones are slowed. */
  addressAttemptsMax: 60,
  /** The pause after a hash of a slowed address, in ms: all of them get one password a second together. */
  slowedRestMs: 1000,
  attemptsWindowMs: 600_000,
  /** How long a browser is known after a sign-in, in s: half a year. */
  browserKnownSeconds: (180 * limits.dayMs) / 1000,
  /** Characters of the cookie of a known browser that are read: an address of 254 characters makes 570. */
  browserCookieCharsMax: 1000,
  /** Accounts and addresses that are counted, each about 200 bytes: many more are an attack on the counters. */
  attemptsKept: 20_000,
  /** Sessions of one user; one more ends the oldest. */
  sessionsMax: 20,
  /** Characters of the browser's name that are kept, to distinguish sessions. */
  userAgentCharsMax: 200,
};
