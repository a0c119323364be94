// A preload that notes which files of src a request passes: those of which a function with a body runs on the request's
// behalf, at once or later. What runs by itself beside requests is told apart by its async context.

import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const requests = new AsyncLocalStorage<Set<string>>();

/** The files passed since it was emptied, in the order of their first functions. */
export const passed = new Set<string>();

declare global {
  /** Called first by every function of src. */
  var notePassed: (file: string) => void;
}

globalThis.notePassed = (file) => void requests.getStore()?.add(file);

/** Lines whose block is no function's. */
const otherBlock =
  /^(?:\}? ?(?:if|else|for|while|switch|do|try|catch|finally)\b|(?:export )?(?:interface|class|type)\b)/;
/** The end of a function's head as the formatter writes it: also of a signature of several lines. */
const functionHead = /(?:=> \{|\)(?:: [^=]*)? \{)$/;

function withNotes(path: string): string {
  const note = ` globalThis.notePassed(${JSON.stringify(relative(root, path))});`;
  const lines = readFileSync(path, "utf8").split("\n");
  return lines
    .map((line) => {
      const text = line.trim();
      const opens = text.endsWith("=> {") || (functionHead.test(text) && !otherBlock.test(text));
      return opens ? line + note : line;
    })
    .join("\n");
}

Bun.plugin({
  name: "trace",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const isOurs = path.startsWith(join(root, "src/"));
      return { contents: isOurs ? withNotes(path) : readFileSync(path, "utf8"), loader: "ts" };
    });
  },
});

type Answer = (...given: unknown[]) => unknown;

/** Notes what `act` causes, at once or later, as it notes what a request does. */
export function noting<T>(act: () => T): T {
  return requests.run(passed, act);
}

/** Options of a server whose handlers run in the context of a request. */
function traced(options: Record<string, unknown>): Record<string, unknown> {
  const inRequest = (answer: Answer): Answer => {
    return (...given) => noting(() => answer(...given));
  };
  const entries = Object.entries(options).map(([name, value]) => {
    if (typeof value === "function" && name !== "error") return [name, inRequest(value as Answer)];
    return [name, name === "routes" ? traced(value as Record<string, unknown>) : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

const { serve } = Bun;
Object.assign(Bun, { serve: (options: Record<string, unknown>) => serve(traced(options) as never) });
