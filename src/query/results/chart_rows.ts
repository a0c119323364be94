// Rows of a table as a chart's data: the names on its axis, and their numbers.

export interface ChartRows {
  /** Whether the first column is a time: the chart is over time, else side by side. */
  isTime: boolean;
  names: string[];
  series: { label: string; values: (number | null)[] }[];
}

/** The names of columns; those without a name are called by their number. */
export function nameColumns(rows: readonly (readonly unknown[])[], columns: readonly string[]): string[] {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const nameColumn = (_: unknown, i: number) =>
    columns[i]?.replace("context.columns.", "") ?? `Column ${i + 1}`;
  return Array.from({ length: width }, nameColumn);
}

/** How many names side by side, and series, one picture shows. */
const [namesMax, seriesShownMax] = [2000, 30];

/** The type below `Nullable(…)` and `LowCardinality(…)`. */
function bareType(type: string): string {
  for (const outer of ["LowCardinality(", "Nullable("])
    if (type.startsWith(outer)) return bareType(type.slice(outer.length, -1));
  return type;
}

const isNumber = (type: string) => /^(?:U?Int|Float|Decimal)/.test(bareType(type));
const isTimeType = (type: string) => bareType(type).startsWith("Date");
const isText = (type: string) => /^(?:String|FixedString|Enum|UUID|Bool)/.test(bareType(type));

/**
 * The first column is a time or a text, the others numbers; or the second is a text, which splits one column of numbers
 * into series. Undefined for other tables, and where a name would appear twice.
 */
export function toChartRows(
  columns: readonly string[],
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
): ChartRows | undefined {
  const [first = "", second = "", third = ""] = types;
  const isTime = isTimeType(first);
  if (rows.length === 0 || types.length < 2 || !(isTime || isText(first))) return undefined;
  const byName = (row: readonly unknown[]) => cellName(row[0]);
  const names = [...new Set(rows.map(byName))];
  if (isTime) names.sort();
  if (names.length > namesMax) return undefined;
  const at = new Map(names.map((name, i) => [name, i]));
  if (types.slice(1).every(isNumber)) {
    if (names.length < rows.length) return undefined;
    const ordered = names.map(() => rows[0]!);
    for (const row of rows) ordered[at.get(byName(row))!] = row;
    const series = columns.slice(1).map((label, i) => ({
      label,
      values: ordered.map((row) => numberIn(row[i + 1])),
    }));
    return { isTime, names, series };
  }
  if (types.length !== 3 || !isText(second) || !isNumber(third)) return undefined;
  const parted = new Map<string, (number | null)[]>();
  for (const row of rows) {
    const label = cellName(row[1]);
    const values = parted.get(label) ?? names.map(() => null);
    parted.set(label, values);
    const i = at.get(byName(row))!;
    if (values[i] !== null) return undefined;
    values[i] = numberIn(row[2]);
  }
  if (parted.size > seriesShownMax) return undefined;
  return { isTime, names, series: [...parted].map(([label, values]) => ({ label, values })) };
}

function cellName(value: unknown): string {
  if (value === null || value === undefined) return "(null)";
  return value === "" ? "(empty)" : String(value);
}

function numberIn(value: unknown): number | null {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

export function shownCell(value: unknown): string {
  // A pair is a number and that of the time before, which is null where nothing is compared.
  if (Array.isArray(value) && value.length === 2 && value[1] === null) return shownCell(value[0]);
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
