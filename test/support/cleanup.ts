// What a test file leaves behind, taken away in mirror order. Every file that makes something says `afterAll(cleanUp)`.

import { afterAll, afterEach, beforeEach } from "bun:test";

const closers: (() => unknown)[] = [];

export function later(close: () => unknown): void {
  closers.push(close);
}

/**
 * For a file whose tests share nothing but what was made before the first one: what a test made goes with it, since
 * servers without requests still use their share of the machine.
 */
export function cleanUpEach(): void {
  let before = 0;
  beforeEach(() => void (before = closers.length));
  afterEach(() => closeFrom(before), closeMsMax);
  afterAll(cleanUp, closeMsMax);
}

const closeMsMax = 60_000;

/** @throws the first closer's failure, when all others have had their turn as well. */
export async function cleanUp(): Promise<void> {
  await closeFrom(0);
}

async function closeFrom(first: number): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.splice(first).toReversed()) {
    try {
      await close();
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  if (failures.length > 0) throw failures[0];
}
