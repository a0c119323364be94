// Bodies as text: plain items among odd and broken ones, with blanks, escapes and repetitions where JSON allows them.

import fc from "fast-check";
import { blank, broken, lines, list, member, object, oneOf, quoted, raw, type Texts } from "./odd_json.ts";

const names = lines(String.raw`
a longer name of an event
$pageview
$screen
$identify
$create_alias
$snapshot
$snapshot_items
survey sent
$performance_event
$exception
größer
x\ny
$groupidentify
$snapsho
$$heatmap
$identify
$groupidentify
$groupidentify
`);
const keys = lines(String.raw`
event
distinct_id
$distinct_id
timestamp
uuid
offset
api_key
token
$set
$set_once
$groups
$current_url
$process_person_profile
$ignore_sent_at
$cookieless_mode
other
\u0065vent
x
$process_person_profile_and_more_than_fits
$anon_distinct_id
alias
eventt
a\n
batch
sent_at
`);
const times = lines(`
2024-02-29T23:59:60Z
2023-02-29T00:00:00Z
2024-01-01T00:00:00.123456789Z
2024-01-01T00:00:00.Z
2024-01-01T24:00:00Z
2024-01-01t00:00:00z
2024-01-01T00:00:00+02:00
2024-01-01
soon
2026-01-16T11:00:12Z
2026-01-16T11:00:13Z
2024-01-01T00:00:00.5Z
1900-01-01T00:00:12Z
2024-01-01T00:00:00.123456+00:00
2024-01-01T00:00:00.123-05:30
2024-01-01T00:00:00+0130
2024-01-01T00:00:00-08
2024-01-01T00:00:00
2024-01-01 00:00:00.25
2024-01-01 00:00:00 +01:00
2024-01-01T00:00:00.+01:00
2024-01-01T00:00:00+1:00
2024-01-01T00:00:00+24:00
2024-01-01T00:00:00+01:60
2024-01-01T00:00:00+01:0
2024-01-01T00:00:00+01:
2024-01-01T00:00:00+
1900-01-01T00:30:12+00:30
2026-01-16T12:00:12+01:00
2026-01-16T12:00:13+01:00
`);
const range = { min: new Date("1890-01-01"), max: new Date("2030-01-01"), noInvalidDate: true };
const date = fc.date(range).map((one) => one.toISOString());
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constant("e") },
  { weight: 2, arbitrary: oneOf([...names, ""]) },
);
const time = fc.oneof({ weight: 3, arbitrary: date }, { weight: 1, arbitrary: oneOf([...times, ""]) });
const uuid = fc.oneof(
  fc.uuid(),
  fc.uuid(),
  fc.uuid().map((text) => text.toUpperCase()),
  oneOf(["01890a5d-ac96-774b-bcce-00000000000g", "01890a5dac96774bbcce000000000000", "", "0-0"]),
);
const id = oneOf([
  "user_1",
  "d",
  "user with a longer name",
  " ",
  "",
  "é",
  "a\\u0041",
  "x".repeat(200),
  "y".repeat(201),
  "ü".repeat(150),
  "$posthog_cookieless",
  "$posthog_cookieles",
  "$posthog_cookieless_",
  "$posthog_xookieless",
]);
/** Ids as clients write them that have numbers for them, and what is no id. */
const rawId = fc.oneof(
  { weight: 6, arbitrary: fc.constant('"user"') },
  { weight: 3, arbitrary: oneOf(["17", "-1.5e3", "0", "9".repeat(200), "-0.0", `1.${"0".repeat(199)}`]) },
  { weight: 1, arbitrary: oneOf(["null", "true", "{}", '[ "a" ]', '" "', '""', '"\\u0061"']) },
);
const key = oneOf([...keys, "", "properties"]);

/** Keys of persons' properties: plain ones, one twice, ones written in an unusual way. */
const propertyKey = oneOf([
  ..."email plan name a b visits $initial_referring_domain Größe".split(" "),
  "two words",
  "",
  "a\\n",
  "\\u0061",
  ...[16, 17, 400, 401].map((letters) => "k".repeat(letters)),
]);
const sets = fc.oneof(
  { weight: 6, arbitrary: object(member(propertyKey, raw)) },
  { weight: 1, arbitrary: raw },
);
const unsets = fc.oneof(
  { weight: 3, arbitrary: list(fc.oneof({ weight: 6, arbitrary: quoted(propertyKey) }, raw)) },
  { weight: 1, arbitrary: sets },
);
const groupType = oneOf([
  ..."company company team team ä new".split(" "),
  "",
  "t\\u0065am",
  "long".repeat(16),
  `${"long".repeat(16)}er`,
  "x".repeat(1700),
]);
const groupKey = fc.oneof(
  { weight: 6, arbitrary: oneOf(['"c1"', '"another company with a name"', "17", "-1.5", '"ö"']) },
  { weight: 2, arbitrary: oneOf(['""', '"k\\n"', `"${"k".repeat(401)}"`, `"${"k".repeat(1700)}"`]) },
  { weight: 1, arbitrary: raw },
);
const groups = object(member(groupType, groupKey));
const flag = oneOf(["true", "true", "false", "false", "null", '"no"', "0"]);
const ownChange = fc.oneof(member(oneOf(["$set", "$set_once"]), sets), member(fc.constant("$unset"), unsets));
/** What sites say of persons and groups, within properties. */
const identity = fc.oneof(
  { weight: 6, arbitrary: ownChange },
  { weight: 3, arbitrary: member(fc.constant("$groups"), groups) },
  { weight: 2, arbitrary: member(fc.constant("$process_person_profile"), flag) },
  {
    weight: 1,
    arbitrary: member(oneOf(["$anon_distinct_id", "alias"]), oneOf(['"user"', '"anon"', '""', "null", "1"])),
  },
  { weight: 2, arbitrary: member(fc.constant("$group_type"), quoted(groupType)) },
  { weight: 2, arbitrary: member(fc.constant("$group_key"), groupKey) },
  { weight: 2, arbitrary: member(fc.constant("$group_set"), sets) },
  { weight: 1, arbitrary: member(fc.constant("$ignore_sent_at"), flag) },
  { weight: 1, arbitrary: member(fc.constant("$cookieless_mode"), flag) },
);

const likely = fc.oneof(
  member(fc.constant("event"), quoted(name)),
  member(fc.constant("distinct_id"), quoted(id)),
  member(fc.constant("timestamp"), quoted(time)),
  member(fc.constant("uuid"), quoted(uuid)),
  member(
    fc.constant("$import_rank"),
    oneOf(["7", "1764292800000000", "17642928000000001", "1.5", "-1", '"7"', "null"]),
  ),
);
const unlikely = member(key, raw);
const plainMember = member(
  oneOf(["a", "$browser", "$current_url", "token", "a longer key of properties"]),
  raw,
);
const properties = fc.oneof(
  { weight: 6, arbitrary: object(plainMember) },
  { weight: 5, arbitrary: object(fc.oneof({ weight: 3, arbitrary: identity }, plainMember)) },
  { weight: 2, arbitrary: object(unlikely) },
  { weight: 1, arbitrary: raw },
);
const anyMember = fc.oneof(
  { weight: 6, arbitrary: likely },
  { weight: 2, arbitrary: member(fc.constant("properties"), properties) },
  { weight: 1, arbitrary: unlikely },
);
/** Changes of a person beside the properties, in few events. */
const ago = oneOf([
  "0",
  "1",
  "3004",
  "999999999999",
  "9999999999999",
  "1.5",
  "-5",
  "1e3",
  "null",
  '"7"',
  "{}",
]);
const beside = fc
  .tuple(fc.nat({ max: 3 }), fc.oneof(ownChange, member(fc.constant("offset"), ago)))
  .map(([chance, [key_, value]]) => (chance === 0 ? [`"${key_}":${value}`] : []));
const sound = fc
  .tuple(quoted(name), quoted(time), quoted(uuid), properties, fc.boolean(), blank, beside, rawId)
  .map(([event, at, own, inner, hasId, gap, more, who]) => {
    const members = [
      `"distinct_id":${who}`,
      `"timestamp":${at}`,
      ...(hasId ? [`"uuid":${own}`] : []),
      ...more,
    ];
    return `{${[`"event":${gap}${event}`, ...members, `"properties":${inner}`].join(`${gap},${gap}`)}}`;
  });
/** Events of persons and groups as sites send them, with one thing odd about some. */
const told = fc
  .tuple(
    oneOf(["e", "e", "$identify", "$groupidentify", "$groupidentify", "$exception"]),
    fc.subarray([
      '"$set":{"email":"a@b.c","visits":3}',
      '"$set_once":{ "email" : null, "plan":[1,{"a":"}"}] }',
      '"$unset":["plan"]',
      '"$groups":{"company":"c1","team":17}',
      '"$group_type":"company","$group_key":"c1"',
      '"$group_set":{"name":"a","size":3}',
    ]),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      identity.map(([key_, value]) => [`"${key_}":${value}`]),
    ),
    quoted(time),
    beside,
  )
  .map(([event, members, odd, at, more]) => {
    const inner = `"properties":{${[...members, ...odd].join(",")}}`;
    return `{${[`"event":"${event}","distinct_id":"user","timestamp":${at}`, ...more, inner].join(",")}}`;
  });
const item = fc.oneof(
  { weight: 12, arbitrary: sound },
  { weight: 6, arbitrary: told },
  { weight: 4, arbitrary: object(anyMember) },
  { weight: 1, arbitrary: raw },
);
const whole: Texts = fc
  .tuple(fc.array(fc.tuple(item, blank), { maxLength: 12 }), oneOf(["batch", "batch", "array"]), blank)
  .map(([items, shape, gap]) => {
    const list = `[${items.map(([text, space]) => `${space}${text}${space}`).join(",")}]`;
    return shape === "array" ? list : `{${gap}"batch":${gap}${list}${gap},"api_key":"k"}`;
  });
/** One event, with members of a batch's own among its. */
const alone: Texts = fc.tuple(fc.oneof(sound, told, object(anyMember)), blank).chain(([text, gap]) => {
  const names_ = oneOf(["api_key", "token", "$token", "sent_at", "historical_migration", "batch", "other"]);
  const value = oneOf(['"k"', '"k"', '"other"', '""', "null", "true", '"true"', "1", "[]", "{}"]);
  const more = fc.array(fc.tuple(fc.boolean(), names_, value), { maxLength: 3 });
  return more.map((list) => {
    const first = list.filter(([front]) => front).map(([, key_, own]) => `"${key_}"${gap}:${own},${gap}`);
    const last = list.filter(([front]) => !front).map(([, key_, own]) => `${gap},"${key_}":${gap}${own}`);
    return `${gap}{${first.join("")}${text.slice(1, -1)}${last.join("")}}${gap}`;
  });
});
const sent = fc.oneof({ weight: 2, arbitrary: whole }, { weight: 1, arbitrary: alone });
const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }), oneOf(["set", "put", "cut"]));
const spoilt = fc.tuple(sent, fc.array(change, { maxLength: 3 })).map(([text, changes]) => {
  let now = Buffer.from(text);
  for (const [place, value, how] of changes) {
    const at = place % (now.length + 1);
    const middle = how === "cut" ? [] : [value];
    const rest = now.subarray(how === "put" ? at : at + 1);
    now = Buffer.concat([now.subarray(0, at), Buffer.from(middle), rest]);
  }
  return new Uint8Array(now);
});
const torn = fc.tuple(sent, oneOf(broken), fc.nat()).map(([text, piece, place]) => {
  const colon = text.indexOf(":", place % (text.length + 1));
  return `${text.slice(0, colon + 1)}${piece}${text.slice(colon + 1)}`;
});

/** Bodies of plain, odd and broken items, and of one event. */
export const bodies: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 4, arbitrary: sent },
  { weight: 1, arbitrary: spoilt },
  { weight: 1, arbitrary: torn },
);
