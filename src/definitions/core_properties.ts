// Properties that PostHog's SDKs set, besides those that begin with `$`; and members of `properties` with another
// meaning.

/** Advertising parameters and what libraries add without a `$`. */
export const coreProperties: readonly string[] = (
  "utm_source utm_medium utm_campaign utm_content utm_name utm_term gclid gad_source gclsrc dclid gbraid wbraid " +
  "fbclid msclkid twclid li_fat_id mc_cid igshid ttclid rdt_cid epik qclid sccid irclid _kx distinct_id token title"
).split(" ");

/** Not shown as properties, as in PostHog. */
export const hiddenProperties: readonly string[] = (
  "distinct_id $set $set_once $unset $groups $group_type $group_key $group_set " +
  "$group_0 $group_1 $group_2 $group_3 $group_4"
).split(" ");
