// What a test file leaves behind, taken away in mirror order. Every file that makes something says `afterAll(cleanUp, 60_000)`.

const closers: (() => unknown)[] = [];

export function later(close: () => unknown): void {
  closers.push(close);
}

export async function cleanUp(): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close();
}
