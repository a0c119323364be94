// Properties of events that PostHog's ingestion makes properties of their persons, as they are and, of the first event
// that has one, as `$initial_…`. Here a person has them only where a client sets them.

import { words } from "./table.ts";

const ofEvents = words(
  "$app_build $app_name $app_namespace $app_version $browser $browser_version $device_type $current_url " +
    "$pathname $os $os_name $os_version $referring_domain $referrer $screen_height $screen_width " +
    "$viewport_height $viewport_width $raw_user_agent utm_source utm_medium utm_campaign utm_content " +
    "utm_name utm_term gclid gad_source gclsrc dclid gbraid wbraid fbclid msclkid twclid li_fat_id mc_cid " +
    "igshid ttclid rdt_cid irclid _kx epik qclid sccid",
);

export const liftedProperties: ReadonlySet<string> = new Set(
  ofEvents.flatMap((name) => [name, `$initial_${name.replace("$", "")}`]),
);
