// A lexer for ClickHouse's SQL, and facts about a statement from its tokens: its end, its INSERT. Names in statements.

export interface Cluster {
  /** Name in `remote_servers` of ClickHouse's configuration. */
  name: string;
  database: string;
}

/** Names for statements, besides the tables and views that they read and insert into. */
export interface Tables {
  /** Appended to the subject of a statement that all servers run; empty on one machine. */
  onAll: string;
  /** The table that holds the rows of this one, on all servers: for DELETE, ALTER, ATTACH, DETACH. */
  local(name: string): string;
  /** A system table of all servers that hold the rows, with the names of tables that statements know. */
  system(name: "disks" | "mutations" | "parts" | "parts_columns"): string;
}

export const ownTables: Tables = { onAll: "", local: quoteName, system: (name) => `system.${name}` };

interface SqlToken {
  kind: "word" | "string" | "name" | "symbol";
  text: string;
  start: number;
  end: number;
  /** How many brackets are open around it. */
  depth: number;
}

const space = /\s+/y;
const comment = /--[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const wordPattern = /[\p{L}\p{N}_$]+/uy;
const heredoc = /\$(\w*)\$[\s\S]*?\$\1\$/y;

/** The tokens of a text from `from` on. Lazy, since what follows FORMAT in an INSERT is data, not SQL. */
export function* readTokens(text: string, from = 0): Generator<SqlToken> {
  let at = from;
  let depth = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const skipped = match(space) ?? match(comment);
    if (skipped) {
      at += skipped.length;
      continue;
    }
    const start = at;
    const read = (kind: SqlToken["kind"], found: string): SqlToken => {
      at += found.length;
      return { kind, text: found, start, end: at, depth };
    };
    const quoted = quotedAt(text, at, "'") ?? match(heredoc);
    const named = quotedAt(text, at, "`") ?? quotedAt(text, at, '"');
    const plain = match(wordPattern);
    if (quoted) yield read("string", quoted);
    else if (named) yield read("name", named);
    else if (plain) yield read("word", plain);
    else {
      const symbol = text[at] ?? "";
      if (")]}".includes(symbol)) depth = Math.max(0, depth - 1);
      yield read("symbol", symbol);
      if ("([{".includes(symbol)) depth++;
    }
  }
}

/** The literal or name in quotes at `at`; one that is not closed goes to the end of the text. */
function quotedAt(text: string, at: number, quote: string): string | undefined {
  if (text[at] !== quote) return undefined;
  const end = quoteEnd(text, at);
  return end < 0 ? text.slice(at) : text.slice(at, end);
}

/**
 * The end of the text in quotes that begins at `at`, where a quote is escaped by a backslash or doubled; -1 when it is
 * not closed. A regular expression fails on a literal of megabytes.
 */
export function quoteEnd(text: string, at: number): number {
  const quote = text[at];
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === quote && text[++index] !== quote) return index;
  }
  return -1;
}

/** The statements of a script, without their semicolons; comments alone are none. */
export function splitStatements(script: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let empty = true;
  for (const token of readTokens(script)) {
    if (token.text !== ";") {
      empty = false;
      continue;
    }
    if (!empty) statements.push(script.slice(start, token.start).trim());
    start = token.end;
    empty = true;
  }
  if (!empty) statements.push(script.slice(start).trim());
  return statements;
}

export interface Insert {
  /** Offset at which FROM INFILE belongs: before SETTINGS, FORMAT or VALUES. */
  splitAt: number;
  /** SETTINGS as written, without FORMAT. */
  settings: string;
  /** The format of the data; undefined when the rows come from a SELECT or stand behind VALUES. */
  format: string | undefined;
  /** Offset at which data may begin. */
  dataAt: number;
  /** The literal behind FROM INFILE, quotes included. */
  file: string | undefined;
  /** From `input(` to behind its bracket, where a SELECT reads the data by it. */
  input?: { start: number; end: number };
}

/** Reads where an INSERT takes its rows from; undefined for any other statement. */
export function readInsert(text: string): Insert | undefined {
  const tokens = readTokens(text);
  if (next(tokens)?.text.toUpperCase() !== "INSERT") return undefined;
  let splitAt: number | undefined;
  let file: string | undefined;
  for (const token of tokens) {
    if (token.kind !== "word" || token.depth > 0) continue;
    const keyword = token.text.toUpperCase();
    if (keyword === "SELECT" || keyword === "WITH") return readSelectingInsert(text, token.end);
    if (keyword === "INFILE") file = next(tokens)?.text;
    else if (keyword === "SETTINGS") splitAt ??= token.start;
    else if (keyword === "FORMAT" || keyword === "VALUES") {
      const format = keyword === "VALUES" ? token : next(tokens);
      const settings = text.slice(splitAt ?? token.start, token.start);
      const dataAt = format?.end ?? text.length;
      return { splitAt: splitAt ?? token.start, settings, format: format?.text, dataAt, file };
    }
  }
  return { ...withoutData(text), file };
}

/** An INSERT … SELECT, from behind its first word; the data are its own where it reads them by `input(…)`. */
function readSelectingInsert(text: string, from: number): Insert {
  const tokens = readTokens(text, from);
  const none = withoutData(text);
  let input: Insert["input"];
  let before: SqlToken | undefined;
  for (const token of tokens) {
    if (token.text === "(" && before?.kind === "word" && before.text.toLowerCase() === "input")
      input ??= { start: before.start, end: token.end };
    if (input && token.depth === 0 && token.kind === "word" && token.text.toUpperCase() === "FORMAT") {
      const format = next(tokens);
      const dataAt = format?.end ?? text.length;
      return { ...none, splitAt: token.start, format: format?.text, dataAt, input };
    }
    before = token;
  }
  return none;
}

function withoutData({ length }: string): Insert {
  return { splitAt: length, settings: "", format: undefined, dataAt: length, file: undefined };
}

/** Reads the shape of a statement from its tokens. */
export function readShape(text: string) {
  const shape = {
    /** The first word, in capitals; empty when it starts with a bracket or a literal. */
    verb: "",
    format: undefined as string | undefined,
    /** The text before that FORMAT, when nothing follows it. */
    unformatted: undefined as string | undefined,
    selects: 0,
    outfile: false,
  };
  let before: string | undefined;
  let beforeAt = 0;
  for (const token of readTokens(text)) {
    const word = token.kind === "word" ? token.text.toUpperCase() : "";
    if (before === undefined) shape.verb = word;
    if (word === "SELECT") shape.selects++;
    if (before === "INTO" && word === "OUTFILE") shape.outfile = true;
    shape.unformatted = undefined;
    if (before === "FORMAT" && word !== "" && token.depth === 0) {
      shape.format = token.text;
      shape.unformatted = text.slice(0, beforeAt);
    }
    before = word;
    beforeAt = token.start;
  }
  return shape;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function quoteName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

/** The text of a string literal: the inverse of quoteText. */
export function unquoteText(literal: string): string {
  return literal
    .slice(1, -1)
    .replaceAll("''", "'")
    .replaceAll(/\\([\s\S])/g, "$1");
}

function next(tokens: Generator<SqlToken>): SqlToken | undefined {
  const { value, done } = tokens.next();
  return done ? undefined : value;
}
