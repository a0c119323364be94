// The place of the keyboard in a page whose parts are replaced.

import { afterEach, expect, test } from "bun:test";
import { useState } from "preact/hooks";
import { useKeptFocus } from "../../../src/console/app/kept_focus.ts";
import { closePage, type DrawnPage, drawPage } from "./drawn_page.tsx";

afterEach(closePage);

function Rows() {
  const [rows, setRows] = useState(["a", "b", "c"]);
  useKeptFocus("content");
  return (
    <main id="content">
      <h1 tabIndex={-1}>Rows</h1>
      <button type="button" onClick={() => setRows([])}>
        Clear
      </button>
      <ul>
        {rows.map((row) => (
          <li key={row}>
            <button type="button" onClick={() => setRows(rows.filter((other) => other !== row))}>
              Remove {row}
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}

const focusOn = (page: DrawnPage, selector: string) => page.find(selector).focus();
const wait = async (page: DrawnPage) => {
  await new Promise((resolve) => setTimeout(resolve, 0));
  await page.settled();
};
const focused = async (page: DrawnPage): Promise<string> => {
  for (let i = 0; i < 200 && page.document.activeElement === page.document.body; i++) await wait(page);
  return page.document.activeElement?.textContent ?? "";
};

test("what comes into the place of a removed element has the focus, or the last one before it", async () => {
  const page = await drawPage(<Rows />);
  focusOn(page, "li:nth-child(2) button");
  await page.press("Remove b");
  expect(await focused(page)).toBe("Remove c");
  await page.press("Remove c");
  expect(await focused(page)).toBe("Remove a");
  await page.press("Remove a");
  expect(await focused(page)).toBe("Clear");
});
