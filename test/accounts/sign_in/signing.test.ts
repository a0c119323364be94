import { expect, test } from "bun:test";
import { toClientNetwork } from "../../../src/access/client_address.ts";
import { openRateLimit } from "../../../src/access/rate.ts";
import { signInLimits } from "../../../src/accounts/sign_in/limits.ts";
import { openPasswords, type PasswordCaller } from "../../../src/accounts/sign_in/passwords.ts";
import { openAttempts } from "../../../src/accounts/sign_in/signing.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { Fault } from "../../../src/core/fault.ts";

const right = "correct horse battery";

/** Under which nobody rests. */
const stopped = { now: () => 0, elapsed: () => 0 };
const operator = { owner: "operator", isKnown: true };
const stranger = (owner: string) => ({ owner, isKnown: false });

test("a password is hashed by argon2id with a salt of its own, and matches nothing else", async () => {
  const { hash, matches } = openPasswords(systemClock);
  const [one, other] = await Promise.all([hash(right, operator), hash(right, operator)]);
  expect(one).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
  expect(one).not.toBe(other);
  expect(await matches(right, one, operator)).toBe(true);
  for (const wrong of ["", "Correct horse battery", `${right} `, "x".repeat(100_000), "\0"]) {
    expect(await matches(wrong, one, operator)).toBe(false);
  }
  for (const none of [null, undefined]) expect(await matches(right, none, operator)).toBe(false);
});

/** What became of passwords that strangers ask for at the same time, by their addresses: the code of a refusal. */
async function outcomes(addresses: readonly string[], hash: string | undefined): Promise<string[]> {
  const { matches } = openPasswords(stopped);
  const settled = await Promise.allSettled(addresses.map((one) => matches(right, hash, stranger(one))));
  return settled.map((one) => (one.status === "fulfilled" ? "hashed" : (one.reason as Fault).code));
}

test("more passwords than may wait are refused for a moment, those of unknown accounts hashed like others", async () => {
  const places = signInLimits.hashesMax + signInLimits.hashesWaitingMax;
  const addresses = Array.from({ length: places + 3 }, (_, i) => `10.0.0.${i}`);
  for (const hash of [await openPasswords(systemClock).hash(right, operator), undefined]) {
    const found = await outcomes(addresses, hash);
    expect(found.slice(places)).toEqual(["unavailable", "unavailable", "unavailable"]);
    // On a machine that hashes for longer than a password waits, others are refused as well.
    expect(found[0]).toBe("hashed");
  }
});

test("one address has half of the queue at most, its passwords wait for others', and nobody known waits for it", async () => {
  const { hash, matches } = openPasswords(stopped);
  const of = await hash(right, operator);
  const done: string[] = [];
  const ask = (asking: typeof operator) =>
    matches(right, of, asking).then(
      () => void done.push(asking.owner),
      ({ code }: Fault) => void done.push(code),
    );
  const flood = Array.from({ length: 40 }, () => ask(stranger("10.0.0.1")));
  const others = [ask(operator), ask(stranger("10.0.0.2")), ask(stranger("10.0.0.3"))];
  // The flood's excess is refused at once, before a hash has ended; later also what has waited for too long.
  await new Promise(setImmediate);
  expect(done).toEqual(
    Array.from(
      { length: 40 - signInLimits.hashesMax - signInLimits.hashesWaitingMax / 2 },
      () => "unavailable",
    ),
  );
  await Promise.all(others);
  // While the others were served, the flood had one permit at a time.
  expect(done.filter((one) => one === "10.0.0.1").length).toBeLessThanOrEqual(3);
  await Promise.all(flood);
});

test("after a stranger's password the next one waits, and nobody who is known", async () => {
  const times: number[] = [];
  // A clock by which each hash takes a second.
  const clock = { now: () => 0, elapsed: () => 1000 * times.push(0) };
  const { matches } = openPasswords(clock);
  const began = performance.now();
  await Promise.all([matches(right, null, stranger("a")), matches(right, null, stranger("b"))]);
  expect(performance.now() - began).toBeGreaterThanOrEqual(signInLimits.strangersRestMsMax);
  const clockReads = times.length;
  await Promise.all([matches(right, null, operator), matches(right, null, operator)]);
  expect(times.length).toBe(clockReads);
});

test("passwords of slowed addresses wait for each other, a second each, and nobody else for them", async () => {
  const { matches } = openPasswords(stopped);
  const done: string[] = [];
  const ask = (caller: PasswordCaller) =>
    matches(right, null, caller).then(
      () => void done.push(caller.owner),
      ({ code }: Fault) => void done.push(code),
    );
  const slowed = (owner: string) => ask({ owner, isKnown: false, isSlowed: true });
  const flood = Array.from({ length: 8 }, () => slowed("proxy a@example.com"));
  await flood[0];
  // Another account behind the same proxy comes before the flood's next ones.
  await Promise.all([slowed("proxy b@example.com"), ask(stranger("10.0.0.1")), ask(operator)]);
  expect(done.filter((owner) => owner.startsWith("proxy a")).length).toBeLessThanOrEqual(2);
  await Promise.all(flood);
  // In the time that a password waits at most, one a second is checked.
  expect(done.filter((owner) => owner.startsWith("proxy a")).length).toBeLessThanOrEqual(7);
  expect(done).toContain("unavailable");
}, 300_000);

test("tries are forgotten after ten minutes, and a household's network is one address", () => {
  const clock = { time: 0, now: () => clock.time, elapsed: () => clock.time };
  const attempts = openAttempts(clock);
  const email = "ada@example.com";
  const { accountAttemptsMax, accountAttemptsAnywhereMax, addressAttemptsMax } = signInLimits;
  const throttled = "Request was throttled";
  for (let i = 0; i < accountAttemptsMax; i++) attempts.count("10.0.1.1", email);
  const upper = ` ${email.toUpperCase()}`;
  expect(() => attempts.count("10.0.1.1", upper)).toThrow(throttled);
  for (let i = accountAttemptsMax; i < accountAttemptsAnywhereMax; i++) {
    attempts.count(`10.0.0.${i}`, email);
  }
  expect(() => attempts.count("10.0.1.2", upper)).toThrow(throttled);
  attempts.count("10.0.1.1", "bob@example.com");
  attempts.count("10.0.1.1", email, "browser");
  clock.time += signInLimits.attemptsWindowMs;
  attempts.count("10.0.1.1", email);
  // An address that has tried many accounts is slowed, and refuses no other account: it may be a proxy's.
  const tried = (i: number, address: string) => attempts.count(address, `${i}@example.com`);
  for (let i = 0; i < addressAttemptsMax; i++) {
    expect(tried(i, `2001:db8::${i.toString(16)}`)).toEqual({ owner: "2001:db8:0:0", isKnown: false });
  }
  const slowed = { owner: "2001:db8:0:0 x@example.com", isKnown: false, isSlowed: true };
  const last = "2001:db8::ffff:ffff:ffff:ffff";
  for (let i = 0; i < accountAttemptsMax; i++) {
    expect(attempts.count(last, "x@example.com")).toEqual(slowed);
  }
  expect(() => attempts.count(last, "x@example.com")).toThrow(throttled);
  expect(tried(0, "2001:db8:0:1::1")).not.toHaveProperty("isSlowed");
  clock.time += signInLimits.attemptsWindowMs - 1;
  expect(tried(0, last)).toHaveProperty("isSlowed");
  clock.time += 1;
  expect(tried(0, last)).not.toHaveProperty("isSlowed");
  expect(toClientNetwork("192.0.2.7")).toBe("192.0.2.7");
});

test("of more accounts than are counted, those that were silent longest are forgotten", () => {
  const clock = { now: () => 0, elapsed: () => 0 };
  const rate = openRateLimit(1, clock, { windowMs: 1000, keysMax: 3 });
  for (const name of ["a", "b", "c", "d"]) rate.count(name);
  expect(rate.keysCount()).toBe(3);
  expect(() => rate.count("b")).toThrow("Request was throttled");
  rate.count("a");
});
