// Turns of the event loop that others have while something runs. Never measures how long one takes.

/** How many turns there were until `run` had resolved. */
export async function countTurns(run: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let ended = false;
  const count = () => {
    if (ended) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  await run();
  ended = true;
  return turns;
}
