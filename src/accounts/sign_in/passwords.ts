// Passwords are hashed by the runtime's argon2id, a few at a time. A password is compared for unknown accounts, too, so
// that the time does not show which accounts exist.

import { type Clock, sleep } from "../../core/clock.ts";
import { refuseInput, unavailable } from "../../core/fault.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { signInLimits } from "./limits.ts";

/** The caller for whom a password is hashed: known users share one queue, strangers another, slowed ones a third. */
export interface PasswordCaller {
  owner: string;
  isKnown: boolean;
  isSlowed?: boolean;
}

const { hashKibibytes: memoryCost, hashPasses: timeCost } = signInLimits;
const argon2id = { algorithm: "argon2id", memoryCost, timeCost } as const;

export function openPasswords(clock: Clock) {
  const withPermit = openQueues(clock);
  let nobodys: Promise<string> | undefined;
  return {
    /** @throws Fault invalid_input or max_length for a password that is not allowed; unavailable when too many wait. */
    hash: async (password: string, caller: PasswordCaller) => {
      const text = checkedPassword(password, "password");
      return await withPermit(caller, () => Bun.password.hash(text, argon2id));
    },
    /** Whether this is the password that was hashed; false where there is none. @throws Fault unavailable */
    matches: async (password: string, hash: string | null | undefined, caller: PasswordCaller) => {
      const text = password.normalize("NFKC");
      const isLong = Buffer.byteLength(text) > signInLimits.passwordBytesMax;
      return await withPermit(caller, async () => {
        nobodys ??= Bun.password.hash(crypto.randomUUID(), argon2id);
        const isRight = await Bun.password.verify(isLong ? "-" : text, hash ?? (await nobodys));
        return isRight && !isLong && typeof hash === "string";
      });
    },
  };
}

/** Runs work with a permit of the caller's queue. A stranger's permit pauses before the next stranger gets it. */
function openQueues(clock: Clock) {
  const { hashesMax, hashesWaitingMax, hashWaitMsMax: msMax } = signInLimits;
  const queue = () => new Semaphore(hashesMax, hashesWaitingMax, 1);
  const [known, strangers, slowed] = [queue(), queue(), queue()];
  return async <T>(
    { owner, isKnown, isSlowed = false }: PasswordCaller,
    work: () => Promise<T>,
  ): Promise<T> => {
    if (isKnown) return await known.run({ owner, busy, msMax }, work);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const hashed = (isSlowed ? slowed : strangers).run({ owner, busy, msMax }, async () => {
      const began = clock.elapsed();
      await work().then(resolve, reject);
      const restMs = (clock.elapsed() - began) * signInLimits.strangersRestFactor;
      await sleep(isSlowed ? signInLimits.slowedRestMs : Math.min(restMs, signInLimits.strangersRestMsMax));
    });
    hashed.catch(reject);
    return await promise;
  };
}

/** The text that is hashed, normalized, so that it does not depend on the keyboard. @throws Fault */
function checkedPassword(password: string, attr: string): string {
  const { passwordCharsMin: least, passwordCharsMax: most, passwordBytesMax } = signInLimits;
  const chars = [...password].length;
  if (chars < least)
    refuseInput(`This password is too short. It must contain at least ${least} characters.`, attr);
  const text = password.normalize("NFKC");
  if (chars > most || Buffer.byteLength(text) > passwordBytesMax)
    refuseInput(`Ensure this field has no more than ${most} characters.`, attr, "max_length");
  return text;
}

const busy = () => unavailable("Too many people sign in at this moment. Try again.", 2);
