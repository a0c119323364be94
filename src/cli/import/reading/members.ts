// A JSON object's members with their values as written, so that they can be moved without being changed.
// Never checks the grammar: ask JSON.parse first.

/** Name → the value's own text. A repeated name keeps its last value, as JSON.parse does. */
export type Members = Map<string, string>;

/** Reads an object's members. `text` must be what JSON.parse takes for an object. */
export function readMembers(text: string): Members {
  const members: Members = new Map();
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text.charCodeAt(at) === 0x22) {
    const nameEnd = stringEnd(text, at);
    const name = readName(text, at, nameEnd);
    const from = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const to = valueEnd(text, from);
    members.delete(name);
    members.set(name, text.slice(from, to));
    at = skipSpace(text, to);
    if (text.charCodeAt(at) === 0x2c) at = skipSpace(text, at + 1);
  }
  return members;
}

/** An object's text from its members. */
export function writeMembers(members: Members): string {
  let text = "{";
  for (const [name, value] of members) {
    text += `${text.length > 1 ? "," : ""}${JSON.stringify(name)}:${value}`;
  }
  return `${text}}`;
}

/** The value of a member that is a string with something in it. */
export function memberText(members: Members, name: string): string | undefined {
  const raw = members.get(name);
  if (raw === undefined || raw.charCodeAt(0) !== 0x22 || raw.length === 2) return undefined;
  return JSON.parse(raw) as string;
}

/** The value of a member as an id: its text, or a number's digits; nothing for "", null, true, [] and {}. */
export function memberId(members: Members, name: string): string | undefined {
  const raw = members.get(name);
  return raw !== undefined && /^[-\d]/.test(raw) ? raw : memberText(members, name);
}

/** The members of a member that is an object; no members for anything else. */
export function objectOf(members: Members, name: string): Members {
  const raw = members.get(name);
  return raw !== undefined && raw.charCodeAt(0) === 0x7b ? readMembers(raw) : new Map();
}

/** What a member says at all: not missing, null or "". */
export function saysSomething(raw: string | undefined): raw is string {
  return raw !== undefined && raw !== "null" && raw !== '""';
}

function readName(text: string, from: number, to: number): string {
  const plain = text.slice(from + 1, to - 1);
  return plain.includes("\\") ? (JSON.parse(text.slice(from, to)) as string) : plain;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** One past the closing quote of the string that starts at `from`. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) at++;
  }
  return at;
}

function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (code === 0x2c || code <= 0x20)) return at;
  }
  return text.length;
}
