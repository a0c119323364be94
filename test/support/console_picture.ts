// Draws the picture of the console that the README shows, light and dark: the overview of the made-up shop.
//
//   bun test/support/console_picture.ts

import { join } from "node:path";
import { makeDemo, type Send } from "../../src/demo/demo.ts";
import { ask } from "./ask.ts";
import { openBrowser } from "./browser.ts";
import { cleanUp } from "./cleanup.ts";
import { settled, signedIn } from "./console.ts";
import { personalKey, rested, startServer } from "./server.ts";

const folder = join(import.meta.dir, "../../src/docs/pictures");
const size = { width: 1280, height: 800 };

const server = await startServer({ LOG_LEVEL: "warn" });
const browser = await openBrowser();
const send: Send = async <Reply>(method: string, path: string, body?: object) => {
  const { status, text, body: reply } = await ask(server, method, path, body);
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return reply as Reply;
};
const { id } = await makeDemo(send, Date.now(), () => {});
await rested(server);
for (const colorScheme of ["light", "dark"] as const) {
  const settings = { viewport: size, colorScheme };
  const { page } = await signedIn(browser, server, "start", personalKey, settings);
  await page.goto(`${server.url}/#/${id}/overview`);
  await page.getByText("/products/espresso-cup").first().waitFor();
  await settled(page);
  await page.screenshot({ path: join(folder, `console_${colorScheme}.png`) });
}
await cleanUp();
process.exit(0);
