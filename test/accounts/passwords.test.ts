import { expect, test } from "bun:test";
import { networkOfClient } from "../../src/access/client_address.ts";
import { openRateLimit } from "../../src/access/rate.ts";
import { openAttempts } from "../../src/accounts/sign_in/attempts.ts";
import { signInLimits } from "../../src/accounts/sign_in/limits.ts";
import { openPasswords } from "../../src/accounts/sign_in/passwords.ts";
import { Fault } from "../../src/core/fault.ts";

const right = "correct horse battery";

test("a password is hashed by argon2id with a salt of its own, and matches nothing else", async () => {
  const { hash, matches } = openPasswords();
  const [one, other] = await Promise.all([hash(right), hash(right)]);
  expect(one).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
  expect(one).not.toBe(other);
  expect(await matches(right, one)).toBe(true);
  for (const wrong of ["", "Correct horse battery", `${right} `, "x".repeat(100_000), "\0"]) {
    expect(await matches(wrong, one)).toBe(false);
  }
  expect([await matches(right, null), await matches(right, undefined)]).toEqual([false, false]);
});

test("more passwords than may wait are refused for a moment, those of unknown accounts hashed like others", async () => {
  for (const hash of [await openPasswords().hash(right), undefined]) {
    const { matches } = openPasswords();
    const places = signInLimits.hashesMax + signInLimits.hashesWaitingMax;
    const asked = Array.from({ length: places + 3 }, () => matches(right, hash));
    const settled = await Promise.allSettled(asked);
    const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as Fault] : []));
    // On a machine that hashes for longer than a password waits, more.
    expect(refused.length).toBeGreaterThanOrEqual(3);
    for (const fault of refused) {
      expect([fault.code, fault.retryAfterSeconds]).toEqual(["unavailable", 2]);
    }
    expect(settled.slice(0, signInLimits.hashesMax).map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
    ]);
  }
});

test("tries are forgotten after ten minutes, and a household's network is one address", () => {
  const clock = { time: 0, now: () => clock.time, elapsed: () => clock.time };
  const attempts = openAttempts(clock);
  const email = "ada@example.com";
  for (let i = 0; i < signInLimits.accountAttemptsMax; i++) attempts.count(`10.0.0.${i}`, email);
  expect(() => attempts.count("10.0.1.1", ` ${email.toUpperCase()}`)).toThrow("Request was throttled");
  attempts.count("10.0.1.1", "bob@example.com");
  clock.time += signInLimits.attemptsWindowMs;
  attempts.count("10.0.1.1", email);
  for (let i = 0; i < signInLimits.addressAttemptsMax; i++) attempts.count(`2001:db8::${i.toString(16)}`);
  expect(() => attempts.count("2001:db8::ffff:ffff:ffff:ffff")).toThrow("Request was throttled");
  attempts.count("2001:db8:0:1::1");
  expect(networkOfClient("192.0.2.7")).toBe("192.0.2.7");
});

test("of more accounts than are counted, those that were silent longest are forgotten", () => {
  const clock = { now: () => 0, elapsed: () => 0 };
  const rate = openRateLimit(1, clock, { windowMs: 1000, keysMax: 3 });
  for (const name of ["a", "b", "c", "d"]) rate.count(name);
  expect(rate.keysCount()).toBe(3);
  expect(() => rate.count("b")).toThrow("Request was throttled");
  rate.count("a");
});
