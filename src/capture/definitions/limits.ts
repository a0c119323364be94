// Bounds of what is recorded of events' names.

import { limits, memoryShares } from "../../core/limits.ts";

export const definitionLimits = {
  /** A name, in characters, as in PostHog. Longer ones are not recorded. */
  nameCharsMax: 200,
  /** Properties of one event that are read: PostHog skips events with 10,000; usual ones have 100. */
  eventPropertiesMax: 1000,
  /** Names of events in one project. */
  eventsMax: limits.eventNamesMax,
  /** Names of properties in one project, of all kinds. */
  propertiesMax: 20_000,
  /** Pairs of an event and a property in one project: twenty properties for each of the most events. */
  pairsMax: 20 * limits.eventNamesMax,
  /** Shapes that a process remembers of one project, 16 bytes each: far more than programs send. */
  shapesMax: 32_768,
  /** Bytes of the shapes of all projects; those of the project that came first are forgotten for others. */
  shapesBytesMax: memoryShares.shapes,
  /** Names and pairs that a process remembers of all projects, about 100 bytes each; it may read them again. */
  namesMax: 500_000,
  /** Names read in one turn of the event loop, about 2 ms: an event may have a thousand. */
  namesAtOnceMax: 2000,
  /** How many names the reading of an event counts as. */
  namesOfRead: 10,
  /** Bytes of a text that are read for its type. */
  typeBytesMax: 64,
  /** Rows of one INSERT: encoding them takes 2 ms. */
  insertRowsMax: 5000,
  /** Batches of an earlier process whose names are read in one statement. */
  batchesAtOnceMax: 8,
} as const;
