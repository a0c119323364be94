// What a test file leaves behind, taken away in mirror order. Every file that makes something says `afterAll(cleanUp, 60_000)`.

const closers: (() => unknown)[] = [];

export function later(close: () => unknown): void {
  closers.push(close);
}

/** @throws the first closer's failure, when all others have had their turn as well. */
export async function cleanUp(): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.splice(0).toReversed()) {
    try {
      await close();
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  if (failures.length > 0) throw failures[0];
}
