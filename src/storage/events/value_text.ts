// Values of properties as texts, in SQL.

/** A property's value, stored as JSON, as text: a text as it is, anything else as its JSON. */
export function valueText(json: string): string {
  return `if(startsWith(${json}, '"'), JSONExtractString(${json}), ${json})`;
}
