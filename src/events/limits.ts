// Limits of events that are read back.

import { limits } from "../core/limits.ts";

export const eventLimits = {
  /** How far an event's time may be from the time in its uuid, around which it is searched first, in ms. */
  uuidTimeMsMax: 2 * limits.dayMs,
  /** Days of events whose values are counted, as PostHog counts them. */
  valuesDays: 7,
  /** Elements of an autocapture that are shown, and the characters of the chain that are read for them. */
  elementsMax: 500,
  chainCharsMax: 262_144,
  /** Persons read at once for the events of a page: 65 MB at most, since a person's properties are bounded. */
  personsAtOnceMax: 100,
  /** Days that are counted anew by name: two years of them. More are counted with all others. */
  unmergedDaysMax: 1000,
};
