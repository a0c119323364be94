// Columns that events have beside the text of their properties: some of the properties, and groups, which SQL reads by
// the indexes of their types, 0 to 4.

import { wordsIn } from "../../core/words.ts";

/**
 * Properties that have a column of their name. The server writes it with the row, and queries read it instead of the
 * text. Rows without it (older servers', or with a value that only the engine reads as it does) get it from the text,
 * by the column's default: when they are stored, merged, or read. The first is a trait, too (traitColumns).
 * Each further one costs an import some 0.12 CPU-s/GB: sixteen were twice what reading them is worth.
 */
export const propertyColumns: readonly string[] = wordsIn(`
  $current_url $session_id $pathname $referring_domain $browser $os $device_type $geoip_country_code
`);

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
