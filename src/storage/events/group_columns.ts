// The groups of an event, in SQL over its rows: by the indexes of their types, which are 0 to 4.

export const groupIndexes = [0, 1, 2, 3, 4];

/** The type of groups at an index; empty where the project has none. */
export function groupTypeAt(index: number | string): string {
  return `(SELECT any(group_type) FROM group_types WHERE project_id = {project_id:UInt32} AND place = ${index})`;
}

/** The key of the event's group of the type at an index; empty without one. */
export function groupKeyAt(index: number | string): string {
  return `group_keys[indexOf(group_types, ${groupTypeAt(index)})]`;
}

/** The index in a property's name, as PostHog names an event's groups: `$group_0` to `$group_4`. */
export function readGroupIndex(property: string): string | undefined {
  return /^\$group_([0-4])$/.exec(property)?.[1];
}
