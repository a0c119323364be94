// Limits of functions' arguments, and of what a query takes, with their units and reasons.

export const functionLimits = {
  /** Arguments of one call, and parameters of an aggregate. */
  argumentsMax: 500,
  parametersMax: 20,
  /** How many characters repeat() and pads make, and items an array of one value has; where a column says how many. */
  countMax: 10_000,
  unknownCountMax: 1_500,
  /** Characters that are read of a text whose function takes long by its length. */
  shortTextCharsMax: 128,
  /** Characters of a format and of a type; of a path in JSON; of a pattern. */
  nameCharsMax: 200,
  pathCharsMax: 1_000,
  patternCharsMax: 10_000,
  /**
   * Calls that one block of the engine takes, and characters of texts and arrays of the query's own making that they
   * read: 5 to 10 s. The engine looks at no bound within a block.
   */
  blockStepsMax: 500_000_000,
  blockCharsMax: 1_500_000_000,
  /** Characters of a SELECT's value, as text; the engine refuses a longer one. */
  scalarCharsMax: 60_000,
  /** Calls of a lambda that as many items as fit in memory may take. */
  itemStepsUsual: 50,
  /** Rows of a block, and as how many the only row of a query without tables counts. */
  blockRows: 16_384,
  blockRowsMin: 10,
};
