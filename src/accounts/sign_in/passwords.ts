// Passwords: hashed by the runtime's argon2id, a few at a time. A password is compared for unknown accounts too, so
// that the time tells nobody which accounts exist.

import { Fault } from "../../core/fault.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { signInLimits } from "./limits.ts";

export interface Passwords {
  /** @throws Fault invalid_input or max_length for a password that may not be one; unavailable when too many wait. */
  hash(password: string, attr?: string): Promise<string>;
  /** Whether it is the one that was hashed; never where there is none. @throws Fault unavailable. */
  matches(password: string, hash: string | null | undefined): Promise<boolean>;
}

const { hashKibibytes: memoryCost, hashPasses: timeCost } = signInLimits;
const argon2id = { algorithm: "argon2id", memoryCost, timeCost } as const;

export function openPasswords(): Passwords {
  const permits = new Semaphore(signInLimits.hashesMax, signInLimits.hashesWaitingMax);
  const withPermit = <T>(work: () => Promise<T>): Promise<T> =>
    permits.run({ busy, msMax: signInLimits.hashWaitMsMax }, work);
  let nobodys: Promise<string> | undefined;
  return {
    hash: async (password, attr = "password") => {
      const text = checkedPassword(password, attr);
      return await withPermit(() => Bun.password.hash(text, argon2id));
    },
    matches: async (password, hash) => {
      const text = password.normalize("NFKC");
      const isLong = Buffer.byteLength(text) > signInLimits.passwordBytesMax;
      return await withPermit(async () => {
        nobodys ??= Bun.password.hash(crypto.randomUUID(), argon2id);
        const isRight = await Bun.password.verify(isLong ? "-" : text, hash ?? (await nobodys));
        return isRight && !isLong && typeof hash === "string";
      });
    },
  };
}

/** The text that is hashed: typed on two keyboards, it is the same. @throws Fault */
function checkedPassword(password: string, attr: string): string {
  const { passwordCharsMin: least, passwordCharsMax: most, passwordBytesMax } = signInLimits;
  const chars = [...password].length;
  if (chars < least) {
    const detail = `This password is too short. It must contain at least ${least} characters.`;
    throw new Fault("invalid_input", detail, { attr });
  }
  const text = password.normalize("NFKC");
  if (chars > most || Buffer.byteLength(text) > passwordBytesMax) {
    throw new Fault("max_length", `Ensure this field has no more than ${most} characters.`, { attr });
  }
  return text;
}

function busy(): Fault {
  const detail = "Too many people sign in at this moment. Try again.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 2 });
}
