// The first run as a person meets it: the printed link, the project's key, a first event that appears by itself.

import { beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { noBrowser, openBrowser, visit } from "../support/browser.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { post, type StartedServer, startServer, until } from "../support/server.ts";

cleanUpEach();

const inBrowser = test.skipIf(noBrowser);
const msMax = 300_000;

let browser: Browser;

beforeAll(async () => {
  if (!noBrowser) browser = await openBrowser();
}, msMax);

/** A server that nobody gave keys. */
async function firstStart(environment: Record<string, string> = {}): Promise<StartedServer> {
  return await startServer({
    BOOTSTRAP_PROJECT_API_KEY: "",
    BOOTSTRAP_PERSONAL_API_KEY: "",
    LOG_FORMAT: "pretty",
    FLUSH_INTERVAL_MS: "50",
    ...environment,
  });
}

function linkIn(text: string): string {
  return /http:\S+\/#code=[0-9A-Za-z]{43}/.exec(text)?.[0] ?? "";
}

async function signInBy(server: StartedServer, code: string): Promise<Response> {
  return await fetch(`${server.url}/console/sign_in`, {
    method: "POST",
    headers: { authorization: `Bearer ${code}` },
  });
}

inBrowser(
  "the printed link signs in, shows the project's key, and the first event arrives without reloading",
  async () => {
    const server = await firstStart();
    const key = /(phc_\w{43})/.exec(server.printed())?.[1] ?? "";
    const { page, complaints, requests } = await visit(browser, linkIn(server.printed()));
    await page.getByRole("heading", { name: "Send events" }).waitFor();
    expect(page.url()).not.toContain("code");
    expect(await page.locator("code", { hasText: key }).first().innerText()).toContain(key);
    for (const name of ["Web page", "JavaScript", "Node", "Python", "Go", "Import", "curl"]) {
      await page.getByRole("button", { name, exact: true }).click();
      expect(await page.locator("pre").innerText()).toContain(key);
    }
    await page.getByText("Waiting for the first event").waitFor();
    await page.evaluate("window.sameDocument = true");
    await post(server, "/capture/", { api_key: key, event: "hello", distinct_id: "me" });
    await page.getByText("Arrived: hello.").waitFor();
    await page.getByRole("button", { name: "hello" }).click();
    await page.getByText("No properties.").waitFor();
    expect(await page.evaluate("window.sameDocument")).toBe(true);
    expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });

    // One comes back with an address and a password of one's own.
    await page.getByRole("heading", { name: "4. Come back: choose a password" }).waitFor();
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByLabel("New password").fill("correct horse battery");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("From now on you sign in as ada@example.com, with your password.").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Send events" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Send events" }).waitFor();

    // The link does not sign in again.
    const again = await visit(browser, linkIn(server.printed()));
    await again.page.getByRole("alert").waitFor();
    expect(await again.page.getByRole("alert").innerText()).toContain("This link was used already");
  },
  msMax,
);

test(
  "the link of a first start is exchanged once, and a later start prints none",
  async () => {
    const server = await firstStart();
    const code = linkIn(server.printed()).split("=")[1] ?? "";
    expect((await signInBy(server, "x".repeat(43))).status).toBe(401);
    const reply = await signInBy(server, code);
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const { personal_api_key } = (await reply.json()) as { personal_api_key: string };
    expect(server.printed()).toContain(personal_api_key);
    expect((await signInBy(server, code)).status).toBe(401);
    await server.end("SIGTERM");
    const next = await startServer({ LOG_FORMAT: "pretty" }, server.dataDir);
    expect(next.printed()).not.toContain("#code=");
  },
  msMax,
);

test(
  "JSON logs hold neither the link nor the key, but the command that makes one",
  async () => {
    const server = await firstStart({ LOG_FORMAT: "json" });
    await until(async () => server.printed().includes("\n"));
    const line = JSON.parse(server.printed().split("\n")[0] ?? "") as Record<string, string>;
    expect(line["project_api_key"]).toMatch(/^phc_/);
    expect(line["personal_api_key"]).toContain("key issue");
    expect(server.printed()).not.toContain("phx_");
    expect(server.printed()).not.toContain("code=");
  },
  msMax,
);

test(
  "a key that the operator gave is not behind a link",
  async () => {
    const server = await startServer({ LOG_FORMAT: "pretty" });
    expect(server.printed()).not.toContain("#code=");
  },
  msMax,
);
