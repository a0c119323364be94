// How often the crash tests kill. `bun run test:all` tries each kind of kill; SLUICE_KILLS, which `bun run test:long` sets,
// asks for many of each.

const asked = process.env["SLUICE_KILLS"];

/** The requested number, or else `short`. */
export function killsOf(short: number): number {
  return asked === undefined ? short : Number(asked);
}

/** Of a list of fixed length: all of it in the long form. */
export function inLongForm<Item>(all: readonly Item[], short: readonly Item[]): readonly Item[] {
  return asked === undefined ? short : all;
}
