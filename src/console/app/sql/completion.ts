// The names that the SQL editor offers at the caret: tables, columns, properties, functions, events.

/** The words of the language, as listed by the server. */
export interface SqlWords {
  tables: Record<string, SqlTable>;
  functions: string[];
}

interface SqlTable {
  columns: string[];
  joins: Record<string, string>;
  owner?: Owner;
}

type Owner = "event" | "person" | "group";

/** Names of the project's events, and of its properties by owner. */
export type SqlNames = Readonly<Record<Owner | "name", readonly string[]>>;

export interface Offer {
  text: string;
  name: string;
  kind: "table" | "column" | "property" | "function" | "keyword" | "event";
}

export interface Offered {
  /** The text from here to the caret is replaced. */
  from: number;
  offers: Offer[];
}

const keywords = (
  "select from where group by order by limit as and or not in like ilike between is null join left join on having " +
  "distinct with case when then else end union all asc desc offset interval day week month hour"
).split(" ");

/** Names in one list. */
const offersMax = 40;

export function offeredAt(text: string, caret: number, words: SqlWords, names: SqlNames): Offered {
  const before = text.slice(0, caret);
  const quote = openQuote(before);
  if (quote !== undefined) {
    if (!isEventBefore(before.slice(0, quote))) return { from: caret, offers: [] };
    const offers = names.name.map((name) => toOffer("event", name, name.replaceAll("'", "''")));
    return { from: quote + 1, offers: ranked(offers, before.slice(quote + 1)) };
  }
  const from = wordStart(before);
  const path = before.slice(from).split(".");
  const [prefix, owners] = [path.at(-1)!, path.slice(0, -1)];
  const found =
    owners.length > 0
      ? offersAfterDot(owners, text, words, names)
      : offersAnywhere(text, before, from, words);
  return { from: caret - prefix.length, offers: ranked(found, prefix) };
}

function toOffer(kind: Offer["kind"], name: string, text = name): Offer {
  return { kind, name, text };
}

/** The start of a string that is still open at the end of the text. */
function openQuote(text: string): number | undefined {
  let open: number | undefined;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && open !== undefined) i++;
    else if (text[i] === "'") open = open === undefined ? i : undefined;
  }
  return open;
}

/** Whether a string that begins behind this text is compared with the name of an event. */
function isEventBefore(text: string): boolean {
  const last = wordsIn(text).slice(-2);
  return last.at(-1) === "event" || (last[0] === "event" && ["in", "not", "like"].includes(last[1]!));
}

const isWordSign = (sign: string) => /[\w$]/.test(sign);

function wordStart(text: string): number {
  let at = text.length;
  while (at > 0 && (isWordSign(text[at - 1]!) || text[at - 1] === ".")) at--;
  return at;
}

function wordsIn(text: string): string[] {
  return text
    .split(/[^\w$]/)
    .filter(Boolean)
    .map((word) => word.toLowerCase());
}

/** The tables that the query reads, by their names in it. */
function tablesIn(text: string, { tables }: SqlWords): Map<string, SqlTable> {
  const found = new Map<string, SqlTable>();
  const all = wordsIn(text);
  for (const [i, word] of all.entries()) {
    const table = word === "from" || word === "join" ? tables[all[i + 1] ?? ""] : undefined;
    if (!table) continue;
    found.set(all[i + 1]!, table);
    const alias = all[i + 2] === "as" ? all[i + 3] : all[i + 2];
    if (alias && !keywords.includes(alias)) found.set(alias, table);
  }
  return found;
}

function offersAnywhere(text: string, before: string, from: number, words: SqlWords): Offer[] {
  const last = wordsIn(before.slice(0, from)).at(-1);
  const tables = Object.keys(words.tables).map((name) => toOffer("table", name));
  if (last === "from" || last === "join") return tables;
  const read = [...new Set(tablesIn(text, words).values())];
  const columns = (read.length > 0 ? read : [words.tables["events"]]).flatMap((table) => [
    ...(table?.columns ?? []),
    ...Object.keys(table?.joins ?? {}),
  ]);
  return [
    ...[...new Set(columns)].map((name) => toOffer("column", name)),
    ...words.functions.map((name) => toOffer("function", name, `${name}(`)),
    ...[...new Set(keywords)].map((name) => toOffer("keyword", name)),
    ...tables,
  ];
}

/** Names for the part after the dot. */
function offersAfterDot(owners: readonly string[], text: string, words: SqlWords, names: SqlNames): Offer[] {
  const read = tablesIn(text, words);
  const named = read.get(owners[0]!.toLowerCase());
  let table = named ?? [...read.values()][0] ?? words.tables["events"];
  const path = named ? owners.slice(1) : owners;
  for (const [i, owner] of path.entries()) {
    if (!table) return [];
    if (owner === "properties")
      return table.owner && i === path.length - 1 ? offerProperties(names[table.owner]) : [];
    table = words.tables[table.joins[owner] ?? ""];
  }
  if (!table) return [];
  return [...table.columns, ...Object.keys(table.joins)].map((name) => toOffer("column", name));
}

function offerProperties(names: readonly string[]): Offer[] {
  return names.map((name) => toOffer("property", name, quoteName(name)));
}

/** A name as SQL has it: in backticks unless it is a word. */
export function quoteName(name: string): string {
  const isPlain = [...name].every(isWordSign) && !/^\d/.test(name);
  return isPlain ? name : `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** Names that begin with what was typed, then names that contain it. */
function ranked(offers: readonly Offer[], prefix: string): Offer[] {
  const lowered = prefix.toLowerCase();
  const at = (offer: Offer) => offer.name.toLowerCase().indexOf(lowered);
  const near = offers.filter((offer) => at(offer) >= 0);
  const begin = near.filter((offer) => at(offer) === 0);
  return [...begin, ...near.filter((offer) => at(offer) > 0)].slice(0, offersMax);
}
