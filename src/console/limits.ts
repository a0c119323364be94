// Limits of the console, with their units and reasons.

export const consoleLimits = {
  /** How long the sign-in link of a first start is valid, in ms: enough to read the terminal and open a browser. */
  signInMsMax: 3_600_000,
  /** Pages that follow at once, each with a stream. Of these one project has at most half, a second one a quarter. */
  streamsMax: 100,
  /** Streams of one personal key: the tabs of one person. */
  keyStreamsMax: 10,
  /**
   * Time between two checks whether a stream is still allowed, in ms: with the age of a look-up
   * (accessLimits.foundAgeMsMax) less than the 5 s that a revoked key may be valid.
   */
  readmitMs: 1000,
  /** Time between two messages of a stream, in ms. */
  tickMs: 1000,
  /**
   * Time between two queries for new events, in ms: each reads the newest rows once for all pages with the same filter.
   */
  newestMs: 2000,
  /**
   * How long after its arrival an event may become readable and still be shown by itself, in ms: a flush takes a
   * second, on a busy machine several.
   */
  lateMsMax: 30_000,
  /** The rest after a question for new events, as a multiple of its time: a store that is busy is asked less often. */
  newestRestFactor: 4,
  /** Events in one message. */
  newestMax: 30,
  /** Bytes of an event's properties in a message; longer ones are fetched when somebody opens the event. */
  propertiesBytesMax: 8192,
  /** How long the newest events may take to read, in ms; the next question is asked later. */
  newestMsMax: 5000,
  /** Bytes that a slow page may leave unread; it gets no further message until it has read them. */
  unreadBytesMax: 262_144,
  /** How long one stream lives, in ms. Its page opens the next. */
  streamMsMax: 600_000,
};
