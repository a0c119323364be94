// Limits of the embedded ClickHouse's server, with their units and reasons.

export const chdbServerLimits = {
  /** A parameter, in bytes, as in a ClickHouse server. */
  paramBytesMax: 131_072,
  /** How long running statements may take when the server ends, in ms: less than its owner waits before killing it. */
  endMsMax: 15_000,
  /** How often failed writes of merges are looked for, in ms: far less than the 480 s that replaced parts are kept. */
  diskCheckMs: 10_000,
  /** Free space without which no table is changed, in bytes: far more than others write to the disk in those few ms. */
  definitionRoomBytes: 8 * 1024 * 1024,
  /** Statements that may wait for a place; no sound client sends more at once. */
  waitingMax: 256,
  /** A statement's text, in bytes. */
  statementBytesMax: 16 * 1024 * 1024,
};
