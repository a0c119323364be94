// Properties of events that PostHog's ingestion copies to their persons: the latest value and, as `$initial_…`, the
// first. Here a person has them only where a client sets them. A query for one that no person of the project has is
// refused by name: an empty answer would look as if nobody had any.

import { refuseInput } from "../../core/fault.ts";
import { wordsIn } from "../../core/words.ts";
import type { PropertyFilter } from "./property_filter.ts";

const ofEvents = wordsIn(`
  $app_build $app_name $app_namespace $app_version $browser $browser_version $device_type $current_url
  $pathname $os $os_name $os_version $referring_domain $referrer $screen_height $screen_width
  $viewport_height $viewport_width $raw_user_agent utm_source utm_medium utm_campaign utm_content
  utm_name utm_term gclid gad_source gclsrc dclid gbraid wbraid fbclid msclkid twclid li_fat_id mc_cid
  igshid ttclid rdt_cid irclid _kx epik qclid sccid
`);

const lifted: ReadonlySet<string> = new Set(
  ofEvents.flatMap((name) => [name, `$initial_${name.replace("$", "")}`]),
);

type Read = <Row>(text: string, params: Record<string, unknown>) => Promise<Row[]>;

/** The first of these properties that PostHog would copy and no person of the project ever had; with the refusal. */
export async function findUnset(read: Read, project_id: number, names: readonly string[]) {
  const liftedNames = names.filter((name) => lifted.has(name));
  if (liftedNames.length === 0) return undefined;
  const rows = await read<{ key: string }>(
    `SELECT DISTINCT key
     FROM person_props
     WHERE project_id = {project_id:UInt32} AND key IN {names:Array(String)}`,
    { project_id, names: liftedNames },
  );
  const name = liftedNames.find((text) => !rows.some(({ key }) => key === text));
  if (name === undefined) return undefined;
  const detail =
    `No person of this project has "${name}": events' properties are not copied to their persons here. ` +
    "Send it with $set or $set_once, or use the events' own properties, or $entry_… of sessions.";
  return { name, detail };
}

/** @throws Fault at `attr` for the first that findUnset() finds. */
export async function refuseUnset(read: Read, project_id: number, names: readonly string[], attr: string) {
  const unset = await findUnset(read, project_id, names);
  if (unset) refuseInput(unset.detail, attr);
}

export function personKeysIn(filters: readonly PropertyFilter[]): string[] {
  return filters.flatMap((filter) => {
    if (!("key" in filter)) return personKeysIn(filter.values);
    return filter.type === "person" ? [filter.key] : [];
  });
}
