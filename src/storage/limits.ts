// Bounds of opening the stores, with their units and reasons.

export const storageLimits = {
  /** Postgres connections of one process: management is light, capture uses none. */
  postgresConnectionsMax: 8,
  /** How long a command waits for a starting server to say where its stores are, in ms. */
  attachMsMax: 15_000,
  /**
   * How long one statement of a migration may take, and how long one waits for another process to migrate, in
   * ms: one may copy all events, about 10 million a minute.
   */
  migrateMsMax: 14_400_000,
  /**
   * After how many idle seconds a Postgres connection is closed: long enough to stay warm between requests.
   */
  postgresIdleSecondsMax: 120,
  /** Statements the embedded engine runs at once; exports may hold several for minutes. */
  frontStatementsMax: 16,
  /** Filters on properties in one query; each reads every event's properties once more. */
  propertyFiltersMax: 50,
  /** Values of one filter: a pasted list of ids, not a table. */
  propertyValuesMax: 1000,
  /** Groups of filters within groups: the deepest an editor makes, and one more. */
  propertyGroupsDeepMax: 4,
  /** A property's name in a filter, in UTF-16 units; longer ones exist by mistake only. */
  propertyKeyCharsMax: 400,
  /** A value in a filter, in UTF-16 units. */
  propertyValueCharsMax: 10_000,
  /** A journal unseen for so long, in ms, holds exports up no longer: its process is gone for good. */
  journalUnseenMsMax: 300_000,
  /** How far clocks of processes and of Postgres may be apart, in ms, where they have to be compared. */
  journalClockMsMax: 10_000,
  /** How long a destination's Postgres may take over one statement, in ms: a big table without an index. */
  exportCopyMsMax: 3_600_000,
  /** Postgres connections of a worker that only captures: it reads keys and tells how far its journal has come. */
  workerConnectionsMax: 3,
};
