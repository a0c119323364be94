import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openScripts, staticRoutes } from "../../src/static/route.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

/** A package with one script, its map, and a file that is neither. */
function makePackage(): string {
  const folder = makeFolder();
  mkdirSync(`${folder}/dist`);
  writeFileSync(`${folder}/package.json`, '{"version":"1.2.3"}');
  writeFileSync(`${folder}/dist/array.js`, "var posthog = 1;".repeat(100));
  writeFileSync(`${folder}/dist/array.js.map`, "{}");
  writeFileSync(`${folder}/dist/array.d.ts`, "export {}");
  return folder;
}

const routes = staticRoutes({ scripts: openScripts(makePackage()) });

async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return await routes.handle(new Request(`http://localhost/static/${path}`, { headers }));
}

test("a script is plain or gzipped, as requested, and may be cached for an hour", async () => {
  const plain = await ask("array.js?v=1.418.10");
  expect(plain.status).toBe(200);
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(plain.headers.get("content-type")).toStartWith("text/javascript");
  expect(plain.headers.get("cache-control")).toBe("public, max-age=3600");
  const text = await plain.text();
  expect(text).toStartWith("var posthog = 1;");
  const gzipped = await ask("array.js", { "accept-encoding": "gzip, deflate, br" });
  expect(gzipped.headers.get("content-encoding")).toBe("gzip");
  expect(new TextDecoder().decode(Bun.gunzipSync(await gzipped.arrayBuffer()))).toBe(text);
});

test("a client that has it already gets a 304", async () => {
  const etag = (await ask("array.js")).headers.get("etag") ?? "";
  const again = await ask("array.js", { "if-none-match": etag });
  expect(again.status).toBe(304);
  expect(await again.text()).toBe("");
});

test("below a version it is the same script while the first number is the same", async () => {
  expect((await ask("1.418.10/array.js")).status).toBe(200);
  const other = await ask("2.0.0/array.js", { origin: "https://shop.example" });
  expect(other.status).toBe(404);
  expect(other.headers.get("access-control-allow-origin")).toBe("https://shop.example");
  expect(((await other.json()) as { detail: string }).detail).toContain("1.2.3");
});

test("nothing is served but the scripts and maps that were there", async () => {
  expect((await ask("array.js.map")).status).toBe(200);
  for (const path of ["toolbars.js", "array.d.ts", "..%2fpackage.json", "1.0.0/..%2f..%2fpackage.json", ""]) {
    expect((await ask(path)).status).toBe(404);
  }
});

test("the toolbar, which is PostHog's own application, is a script that ends it quietly", async () => {
  for (const path of ["toolbar.js?v=1&t=2", "1.418.10/toolbar.js"]) {
    const response = await ask(path, { origin: "https://shop.example" });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/javascript; charset=utf-8",
    ]);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://shop.example");
    const kept = new Map([["_postHogToolbarParams", "{}"]]);
    const page: { ph_load_toolbar?: () => unknown } = {};
    const storage = { removeItem: (name: string) => kept.delete(name) };
    new Function("window", "localStorage", await response.text())(page, storage);
    expect(page.ph_load_toolbar?.()).toBeUndefined();
    // What makes posthog-js ask for it on every further page.
    expect(kept.size).toBe(0);
  }
});

test("without the package every script is a 404 that says why", async () => {
  for (const scripts of [openScripts(join(makeFolder(), "none")), openScripts(makeFolder())]) {
    const bare = staticRoutes({ scripts });
    const response = await bare.handle(new Request("http://localhost/static/array.js"));
    expect(response.status).toBe(404);
    expect(((await response.json()) as { detail: string }).detail).toContain("not installed");
  }
});

test("the installed posthog-js has every script that its loader requests", () => {
  const scripts = openScripts();
  expect(scripts.version).toMatch(/^1\./);
  const kinds = [
    "array",
    "loader-bootstrap",
    "surveys",
    "lazy-recorder",
    "web-vitals",
    "dead-clicks-autocapture",
  ];
  const missing = [...kinds, "exception-autocapture", "product-tours", "logs", "tracing-headers"].filter(
    (kind) => !scripts.find(`${kind}.js`),
  );
  expect(missing).toEqual([]);
});
