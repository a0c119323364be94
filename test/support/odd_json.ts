// Fragments of JSON as text: values of every kind, unusual and broken ones, members and objects, with blanks where they
// may be.

import fc from "fast-check";

export type Texts = fc.Arbitrary<string>;
export type Member = readonly [name: string, value: string];

export function oneOf(words: readonly string[]): Texts {
  return fc.constantFrom(...words);
}

export function quoted(text: Texts): Texts {
  return text.map((value) => `"${value}"`);
}

/** One word a line. */
export function lines(text: string): string[] {
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
export const broken = lines(String.raw`
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
export const raw: Texts = fc.oneof(
  { weight: 4, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 4, arbitrary: fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)) },
  { weight: 12, arbitrary: oneOf(values) },
);
export const blank = oneOf(["", "", "", " ", "\n\t ", "\r"]);
export function member(names_: Texts, value: Texts): fc.Arbitrary<Member> {
  return fc.tuple(names_, value);
}

export function list(items: Texts): Texts {
  return fc.array(fc.tuple(items, blank), { maxLength: 5 }).map((all) => {
    return `[${all.map(([text, gap]) => `${gap}${text}${gap}`).join(",")}]`;
  });
}

export function object(members: fc.Arbitrary<Member>): Texts {
  return fc.array(fc.tuple(members, blank), { maxLength: 7 }).map((list) => {
    const texts = list.map(([[name_, value], gap]) => `${gap}"${name_}"${gap}:${gap}${value}${gap}`);
    return `{${texts.join(",")}}`;
  });
}
