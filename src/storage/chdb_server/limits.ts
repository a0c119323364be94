// Bounds of the embedded engine's server, with their units and reasons.

export const chdbServerLimits = {
  /** The same in the embedded ClickHouse, which refuses what a server would. */
  frontParamBytesMax: 131_072,
  /** How long it lets statements finish when it ends, in ms: less than its owner waits before killing it. */
  frontEndMsMax: 15_000,
  /** How often it looks for failed writes of merges, in ms: far less than the 480 s that replaced parts are kept. */
  diskCheckMs: 10_000,
  /** Room without which no table is changed, in bytes: far more than others write to the disk in those few ms. */
  definitionRoomBytes: 8 * 1024 * 1024,
  /** Statements that may wait for one of those places; more at once is a client gone wild. */
  frontWaitingMax: 256,
  /** A statement's text in the embedded ClickHouse, in bytes. */
  frontStatementBytesMax: 16 * 1024 * 1024,
};
