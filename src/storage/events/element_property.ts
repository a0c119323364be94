// What autocaptured events say of the elements that were used, as lists of texts over their JSON text `properties`: of
// a chain, `tag.class:name="value"name="value";tag…` with quotes in values escaped, or of an older client's list.

const chain = "JSONExtractString(properties, '$elements_chain')";
const list = "JSONExtractArrayRaw(properties, '$elements')";
const quoted = String.raw`"((?:[^"\\\\]|\\\\.)*)"`;

/** The values of an attribute of a chain, with their escapes. */
const valuesOf = (names: string): string => String.raw`arrayMap(
  value -> replaceRegexpAll(value, '\\\\(.)', '\\1'),
  extractAll(${chain}, '(?:[:"])(?:${names})=${quoted}')
)`;

/** Without its values a chain has no other dots, colons and semicolons than its own. */
const tags = String.raw`arrayMap(
  part -> extract(part, '^([^.:]*)'),
  if(${chain} = '', [], splitByChar(';', replaceRegexpAll(${chain}, '${quoted}', '')))
)`;

const membersOf = (name: string): string =>
  `arrayFilter(value -> isNotNull(value), arrayMap(one -> JSONExtract(one, '${name}', 'Nullable(String)'), ${list}))`;

const texts: Readonly<Record<string, string>> = {
  tag_name: `arrayConcat(${tags}, ${membersOf("tag_name")})`,
  text: `arrayConcat(${valuesOf("text")}, ${membersOf("$el_text")}, ${membersOf("text")})`,
  href: `arrayConcat(${valuesOf("href|attr__href")}, ${membersOf("attr__href")})`,
};

/** The texts that elements of an event have: `tag_name`, `text` or `href`. */
export function elementTexts(key: string): string {
  return texts[key]!;
}
