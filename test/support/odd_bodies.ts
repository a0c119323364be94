// Bodies as text: plain items among odd and broken ones, with blanks, escapes and repetitions where JSON allows them.

import fc from "fast-check";

type Texts = fc.Arbitrary<string>;
type Member = readonly [name: string, value: string];

function oneOf(words: readonly string[]): Texts {
  return fc.constantFrom(...words);
}

function quoted(text: Texts): Texts {
  return text.map((value) => `"${value}"`);
}

/** One word a line. */
function lines(text: string): string[] {
  return text.trim().split("\n");
}

const values = lines(String.raw`
""
"a"
0
-0.0
-1.5e+3
null
true
false
{}
[]
{"a":[1,{"b":"c"}]}
"\u0000"
"\ud800"
"\udc00\ud800"
"\ud83d\ude00"
"\u00e9 \" \\ \/ \b \f \n \r \t"
"Größe 靴 and more bytes than sixteen"
"sixteen bytes!!!"
[[[[[[]]]]]]
[ 1 , 2 ]
{ "a" : { } , "b" : [ ] }
`);
const broken = lines(String.raw`
01
1.
-
tru
nulll
"\x"
{,}
[1 2]
"	"
"unended
"\u00zz"
1e
{"a"}
{"a":}
[1,]
`);
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
`);
const range = { min: new Date("1890-01-01"), max: new Date("2030-01-01"), noInvalidDate: true };
const date = fc.date(range).map((one) => one.toISOString());
const raw: Texts = fc.oneof(
  { weight: 4, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 4, arbitrary: fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)) },
  { weight: 12, arbitrary: oneOf(values) },
);
const blank = oneOf(["", "", "", " ", "\n\t ", "\r"]);
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
]);
const key = oneOf([...keys, "", "properties"]);

function member(names_: Texts, value: Texts): fc.Arbitrary<Member> {
  return fc.tuple(names_, value);
}

function object(members: fc.Arbitrary<Member>): Texts {
  return fc.array(fc.tuple(members, blank), { maxLength: 7 }).map((list) => {
    const texts = list.map(([[name_, value], gap]) => `${gap}"${name_}"${gap}:${gap}${value}${gap}`);
    return `{${texts.join(",")}}`;
  });
}

const likely = fc.oneof(
  member(fc.constant("event"), quoted(name)),
  member(fc.constant("distinct_id"), quoted(id)),
  member(fc.constant("timestamp"), quoted(time)),
  member(fc.constant("uuid"), quoted(uuid)),
);
const unlikely = member(key, raw);
const plainMember = member(
  oneOf(["a", "$browser", "$current_url", "token", "a longer key of properties"]),
  raw,
);
const properties = fc.oneof(
  { weight: 6, arbitrary: object(plainMember) },
  { weight: 2, arbitrary: object(unlikely) },
  { weight: 1, arbitrary: raw },
);
const anyMember = fc.oneof(
  { weight: 6, arbitrary: likely },
  { weight: 2, arbitrary: member(fc.constant("properties"), properties) },
  { weight: 1, arbitrary: unlikely },
);
const sound = fc
  .tuple(quoted(name), quoted(time), quoted(uuid), properties, fc.boolean(), blank)
  .map(([event, at, own, inner, hasId, gap]) => {
    const members = ['"distinct_id":"user"', `"timestamp":${at}`, ...(hasId ? [`"uuid":${own}`] : [])];
    return `{${[`"event":${gap}${event}`, ...members, `"properties":${inner}`].join(`${gap},${gap}`)}}`;
  });
const item = fc.oneof(
  { weight: 12, arbitrary: sound },
  { weight: 4, arbitrary: object(anyMember) },
  { weight: 1, arbitrary: raw },
);
const whole: Texts = fc
  .tuple(fc.array(fc.tuple(item, blank), { maxLength: 12 }), oneOf(["batch", "batch", "array"]), blank)
  .map(([items, shape, gap]) => {
    const list = `[${items.map(([text, space]) => `${space}${text}${space}`).join(",")}]`;
    return shape === "array" ? list : `{${gap}"batch":${gap}${list}${gap},"api_key":"k"}`;
  });
const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }), oneOf(["set", "put", "cut"]));
const spoilt = fc.tuple(whole, fc.array(change, { maxLength: 3 })).map(([text, changes]) => {
  let now = Buffer.from(text);
  for (const [place, value, how] of changes) {
    const at = place % (now.length + 1);
    const middle = how === "cut" ? [] : [value];
    const rest = now.subarray(how === "put" ? at : at + 1);
    now = Buffer.concat([now.subarray(0, at), Buffer.from(middle), rest]);
  }
  return new Uint8Array(now);
});
const torn = fc.tuple(whole, oneOf(broken), fc.nat()).map(([text, piece, place]) => {
  const colon = text.indexOf(":", place % (text.length + 1));
  return `${text.slice(0, colon + 1)}${piece}${text.slice(colon + 1)}`;
});

/** Bodies of plain, odd and broken items. */
export const bodies: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 4, arbitrary: whole },
  { weight: 1, arbitrary: spoilt },
  { weight: 1, arbitrary: torn },
);
