// Bounds of the embedded engine's server, with their units and reasons.

export const chdbServerLimits = {
  /** The same in the embedded ClickHouse, which refuses what a server would. */
  paramBytesMax: 131_072,
  /** How long it lets statements finish when it ends, in ms: less than its owner waits before killing it. */
  endMsMax: 15_000,
  /** Statements that may wait for one of those places; more at once is a client gone wild. */
  waitingMax: 256,
  /** A statement's text in the embedded ClickHouse, in bytes. */
  statementBytesMax: 16 * 1024 * 1024,
};
