// Values as one text that Postgres reads as an array: a parameter for a column of many rows.

const special = /["\\]/g;

/** `{"a","b"}`, with quotes and backslashes escaped; to be cast: `${arrayText(names)}::text::text[]`. */
export function arrayText(values: readonly (string | number)[]): string {
  if (values.length === 0) return "{}";
  if (typeof values[0] === "number") return `{${values.join(",")}}`;
  return `{"${(values as readonly string[]).map(quoted).join('","')}"}`;
}

function quoted(value: string): string {
  return value.includes('"') || value.includes("\\") ? value.replace(special, "\\$&") : value;
}
