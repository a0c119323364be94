// Bounds of requests for names.

import { limits } from "../core/limits.ts";

export const definitionQueryLimits = {
  /** Names in one parameter: more than people choose. */
  namesMax: 1000,
  /** Words of a search. */
  wordsMax: 20,
  /** Days of `volume_30_day`, today included. */
  volumeDays: 30,
  /** Days after which an event that did not happen again is stale, as in PostHog. */
  staleDays: 30,
  /** Names of events in one project; capture records no more. */
  eventsMax: limits.eventNamesMax,
  /** Definitions of a project that people may describe: lists read the ids of all that match. */
  notesPerProjectMax: 1000,
  descriptionCharsMax: 4000,
  /** As long as the name of a property may be in PostHog. */
  primaryPropertyCharsMax: 400,
} as const;
