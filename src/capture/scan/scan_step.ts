// Where a scan is in a body, and in which of its objects. Names for numbers; nothing else.

/** What comes next. */
export const step = {
  start: 0,
  /** Within the array of events: an item, or behind one. */
  item: 1,
  noItem: 2,
  behindItem: 3,
  /** Within an object that matters, its bracket just passed; a key; a value that stopped midway; behind one. */
  first: 4,
  member: 5,
  value: 6,
  more: 7,
  /** Within a body that is neither object nor array; behind its value. */
  other: 8,
  end: 9,
  done: 10,
} as const;

/** The objects that matter, by how deep they lie: the body's own, an item, its properties. */
export const level = { body: 0, item: 1, properties: 2 } as const;
