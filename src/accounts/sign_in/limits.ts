// Limits of signing in, with their units and reasons.

export const signInLimits = {
  /** Characters of a password: fewer are guessed, more are no better. */
  passwordCharsMin: 8,
  passwordCharsMax: 128,
  /** Bytes of a password as it is hashed: normalized text may be longer than what was typed. */
  passwordBytesMax: 1024,
  /** Characters of an e-mail address, as mail servers have it. */
  emailCharsMax: 254,
  /** Memory of one hash, in KiB, and passes over it: OWASP's least for argon2id, 25 ms of a core. */
  hashKibibytes: 19_456,
  hashPasses: 2,
  /** Passwords that are hashed at once, and those that wait for it: others are captured meanwhile. */
  hashesMax: 2,
  hashesWaitingMax: 32,
  /** How long a password waits for its hash, in ms. */
  hashWaitMsMax: 5000,
  /** Tries for one account, whether it exists or not, and from one address, in any attemptsWindowMs. */
  accountAttemptsMax: 10,
  addressAttemptsMax: 60,
  attemptsWindowMs: 600_000,
  /** Accounts and addresses that are counted, each about 200 bytes: many more are an attack on the counters. */
  attemptsKept: 20_000,
  /** Sessions of one user; one more ends the oldest. */
  sessionsMax: 20,
  /** Characters of the browser's name that are kept, to tell sessions apart. */
  userAgentCharsMax: 200,
};
