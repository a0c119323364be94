// Regular expressions of source files: where they are, and whether their time may grow faster than a text they search.
// A rule of thumb over their shape: it knows no back references, and takes look-arounds for nothing.

export interface Literal {
  /** Without slashes. */
  source: string;
  flags: string;
  line: number;
}

const wordsBefore = new Set(["return", "typeof", "case", "in", "of"]);

/** Regular expression literals of a formatted TypeScript file: a slash that cannot be a division begins one. */
export function regexLiterals(text: string): Literal[] {
  const found: Literal[] = [];
  const templates: number[] = [];
  let depth = 0;
  let before = "";
  for (let at = text.startsWith("#!") ? text.indexOf("\n") : 0; at < text.length;) {
    const char = text[at]!;
    if (text.startsWith("//", at)) at = after(text, "\n", at);
    else if (text.startsWith("/*", at)) at = after(text, "*/", at);
    else if (char === '"' || char === "'") [at, before] = [closed(text, at + 1, char) + 1, char];
    else if (char === "`" || (char === "}" && templates.at(-1) === depth - 1)) {
      if (char === "}") depth = templates.pop()!;
      const end = templatePart(text, at + 1);
      before = text[end - 1] === "{" ? "{" : "`";
      if (before === "{") templates.push(depth++);
      at = end;
    } else if (char === "/" && (!/[\w)\]"'`]$/.test(before) || wordsBefore.has(before))) {
      const end = closed(text, at + 1, "/");
      const flags = /^[a-z]*/.exec(text.slice(end + 1, end + 9))![0];
      found.push({ source: text.slice(at + 1, end), flags, line: text.slice(0, at).split("\n").length });
      [at, before] = [end + 1 + flags.length, "`"];
    } else {
      const word = /^\w+/.exec(text.slice(at, at + 64))?.[0];
      if (char === "{") depth++;
      if (char === "}") depth--;
      if (!/\s/.test(char)) before = word ?? char;
      at += word?.length ?? 1;
    }
  }
  return found;
}

function after(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
}

/** Where a literal ends: a slash in a class does not end an expression. */
function closed(text: string, from: number, end: string): number {
  let inClass = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\") at++;
    else if (char === end && !inClass) return at;
    else if (end === "/" && (char === "[" || char === "]")) inClass = char === "[";
  }
  return text.length;
}

/** Behind the closing mark of a template, or behind the `${` of its next expression. */
function templatePart(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "`") return at + 1;
    else if (text.startsWith("${", at)) return at + 2;
  }
  return text.length;
}

/** One step of an alternative: a set of characters, or a group of alternatives. */
export interface Step {
  /** An expression for one character; undefined for groups. */
  atom: string | undefined;
  alternatives: Step[][];
  least: number;
  unbounded: boolean;
}

/** The alternatives of an expression. Assertions are steps that take no character; `^` and `$` keep their names. */
export function stepsOf(source: string): Step[][] {
  let at = 0;
  const group = (): Step[][] => {
    const alternatives: Step[][] = [[]];
    while (at < source.length && source[at] !== ")") {
      if (source[at] === "|") {
        alternatives.push([]);
        at++;
      } else alternatives.at(-1)!.push(step());
    }
    return alternatives;
  };
  const step = (): Step => {
    let atom: string | undefined;
    let alternatives: Step[][] = [];
    let isAssertion = false;
    if (source[at] === "(") {
      const opening = /^\((\?(?:[:=!]|<[=!]|<\w+>))?/.exec(source.slice(at, at + 40))!;
      isAssertion = /[=!]$/.test(opening[1] ?? "");
      at += opening[0].length;
      alternatives = group();
      at++;
    } else {
      const taken = /^(?:\\[pP]\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^])/i;
      atom = taken.exec(source.slice(at))![0];
      at += atom.length;
    }
    const times = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at));
    at += times?.[0].length ?? 0;
    const mark = times?.[0][0];
    const least = mark === "*" || mark === "?" ? 0 : Number(times?.[1] ?? 1);
    const unbounded = mark === "*" || mark === "+" || (times?.[2] === "," && times[3] === "");
    return isAssertion
      ? { atom: "\\b", alternatives: [], least: 0, unbounded: false }
      : { atom, alternatives, least, unbounded };
  };
  return group();
}

/** Characters that tell most sets apart: ASCII, and a few beyond. */
const samples = [
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  "ſ",
  "β",
  "\u2028",
  "中",
];

/** The sample characters that one step can begin with or is made of. */
function charactersOf(step: Step, flags: string): ReadonlySet<string> {
  const { atom, alternatives } = step;
  if (atom === undefined) {
    return new Set(alternatives.flatMap((steps) => steps.flatMap((one) => [...charactersOf(one, flags)])));
  }
  if (isAnchor(atom)) return new Set();
  const one = new RegExp(`^(?:${atom})$`, flags.replaceAll(/[gym]/g, ""));
  return new Set(samples.filter((char) => one.test(char)));
}

function isAnchor(atom: string): boolean {
  return atom === "^" || atom === "$" || atom === "\\b" || atom === "\\B";
}

/** Why its time may grow faster than the text; undefined when it cannot. */
export function slownessOf({ source, flags }: Pick<Literal, "source" | "flags">): string | undefined {
  const alternatives = stepsOf(source);
  for (const steps of alternatives) {
    const nested = nestedIn(steps, false);
    if (nested) return nested;
    const anchored = flags.includes("y") || (isStart(steps) && !flags.includes("m"));
    for (const way of waysThrough(steps)) {
      const reason = overlapIn(way, flags) ?? (anchored ? undefined : restartIn(way, flags));
      if (reason) return reason;
    }
  }
  return undefined;
}

function isStart([first]: Step[]): boolean {
  if (!first) return false;
  if (first.atom !== undefined) return first.atom === "^";
  return first.least > 0 && first.alternatives.every(isStart);
}

function nestedIn(steps: Step[], repeated: boolean): string | undefined {
  for (const { alternatives, unbounded } of steps) {
    if (unbounded && repeated) return "one repetition within another";
    for (const inner of alternatives) {
      const why = nestedIn(inner, repeated || unbounded);
      if (why) return why;
    }
  }
  return undefined;
}

/** Every way through groups that are not repeated: with each of their alternatives, and without those that may miss. */
function waysThrough(steps: Step[]): Step[][] {
  return steps.reduce<Step[][]>(
    (ways, step) => {
      const inner =
        step.unbounded || step.atom !== undefined ? [[step]] : step.alternatives.flatMap(waysThrough);
      if (step.least === 0 && step.atom === undefined && !step.unbounded) inner.push([]);
      return ways.flatMap((way) => inner.map((more) => [...way, ...more])).slice(0, waysMax);
    },
    [[]],
  );
}

const waysMax = 4096;

/** Two repetitions that may take the same characters, and nothing between them that parts them. */
function overlapIn(steps: Step[], flags: string): string | undefined {
  for (const [at, first] of steps.entries()) {
    if (!first.unbounded) continue;
    const own = charactersOf(first, flags);
    for (const other of steps.slice(at + 1)) {
      const shared = [...charactersOf(other, flags)].some((char) => own.has(char));
      if (other.unbounded && shared) return "two repetitions that may take the same characters";
      if (other.least > 0 && !shared && !isAnchor(other.atom ?? "")) break;
    }
  }
  return undefined;
}

/** A repetition before something else, that begins anew at each of its characters: nothing before it parts them. */
function restartIn(steps: Step[], flags: string): string | undefined {
  for (const [at, { unbounded }] of steps.entries()) {
    const follows = steps.slice(at + 1).some(({ least, atom }) => least > 0 || atom === "$");
    if (!unbounded || !follows) continue;
    const own = charactersOf(steps[at]!, flags);
    const parted = steps
      .slice(0, at)
      .some(
        (one) =>
          one.least > 0 && !one.unbounded && ![...charactersOf(one, flags)].some((char) => own.has(char)),
      );
    if (!parted) return "not anchored at its start, it repeats without bound before something else";
  }
  return undefined;
}
