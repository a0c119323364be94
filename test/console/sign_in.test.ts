import { expect, test } from "bun:test";
import { consoleLimits } from "../../src/console/limits.ts";
import { openSignIn } from "../../src/console/sign_in.ts";

function stopped() {
  const time = { now: 0 };
  return { time, clock: { now: () => time.now, elapsed: () => time.now } };
}

const refused = "This link was used already, or is older than an hour.";

test("a code is exchanged for its key once", () => {
  const signIn = openSignIn(stopped().clock);
  const code = signIn.offer("phx_the_first");
  expect(signIn.exchange(code)).toBe("phx_the_first");
  expect(() => signIn.exchange(code)).toThrow(refused);
});

test("a wrong code opens nothing and leaves the right one valid", () => {
  const signIn = openSignIn(stopped().clock);
  const code = signIn.offer("phx_the_first");
  for (const wrong of ["", "x", `${code}x`, code.slice(1), code.toLowerCase() + code.toUpperCase()]) {
    expect(() => signIn.exchange(wrong)).toThrow(refused);
  }
  expect(signIn.exchange(code)).toBe("phx_the_first");
});

test("a code is valid for an hour", () => {
  const { time, clock } = stopped();
  const signIn = openSignIn(clock);
  const code = signIn.offer("phx_the_first");
  time.now = consoleLimits.signInMsMax;
  expect(signIn.exchange(code)).toBe("phx_the_first");
  const late = signIn.offer("phx_the_first");
  time.now += consoleLimits.signInMsMax + 1;
  expect(() => signIn.exchange(late)).toThrow(refused);
});

test("nothing is exchanged where no code was offered", () => {
  expect(() => openSignIn(stopped().clock).exchange("")).toThrow(refused);
});

test("codes hold 256 random bits", () => {
  const signIn = openSignIn(stopped().clock);
  const codes = Array.from({ length: 100 }, () => signIn.offer("phx_the_first"));
  expect(new Set(codes).size).toBe(100);
  for (const code of codes) expect(code).toMatch(/^[0-9A-Za-z]{43}$/);
});
