// Forms: when they can be sent, and what asks twice before it removes.

import { afterEach, expect, test } from "bun:test";
import type { Action } from "../../../../src/console/app/session/use_loaded.ts";
import {
  CheckField,
  ConfirmButton,
  Field,
  FormCard,
  RemoveButton,
} from "../../../../src/console/app/ui/forms.tsx";
import { closePage, drawPage } from "../drawn_page.tsx";

afterEach(closePage);

/** An action that sends by `send`. */
const action = (send: Action["send"]): Action => ({
  running: false,
  error: undefined,
  done: "",
  run: () => {},
  send,
});

test("an irreversible action asks for confirmation, and the focus moves with it", async () => {
  let acts = 0;
  const page = await drawPage(<ConfirmButton label="Delete" sure="It is gone." act={() => void acts++} />);
  await page.press("Delete");
  expect(acts).toBe(0);
  expect(page.document.activeElement?.getAttribute("aria-label")).toBe("Yes, delete. It is gone.");
  await page.press("No");
  expect([acts, page.document.activeElement?.textContent]).toEqual([0, "Delete"]);
  await page.press("Delete");
  await page.press("Yes, delete. It is gone.");
  expect(acts).toBe(1);
});

test("what is removed is left, once it is gone", async () => {
  const sent: unknown[] = [];
  const send: Action["send"] = (method, path, body, done, after) => {
    sent.push([method, path, body, done]);
    after?.(undefined as never);
  };
  const page = await drawPage(<RemoveButton path="insights/1/" sure="?" action={action(send)} back="list" />);
  await page.press("Delete");
  await page.press("Yes, delete. ?");
  expect(sent).toEqual([["DELETE", "insights/1/", undefined, "Deleted."]]);
  expect(location.hash).toBe("#/7/list");
});

test("a key without the scope of what it would remove sees no button", async () => {
  const button = <RemoveButton path="insights/1/" sure="?" action={action(() => {})} back="list" />;
  for (const [scopes, count] of [
    [["insight:write"], 1],
    [["insight:read", "dashboard:write"], 0],
  ] as const) {
    const page = await drawPage(button, { scopes });
    expect(page.texts("button")).toHaveLength(count);
    await closePage();
  }
});

test("a form is sent by its button, which rests while it is sent or something is missing", async () => {
  let sent = 0;
  const card = (more: object) => (
    <FormCard title="New" send={() => void sent++} {...more}>
      <Field label="Name" hint="a hint">
        {(id) => <input id={id} value="tea" />}
      </Field>
    </FormCard>
  );
  const page = await drawPage(card({}));
  await page.submit("Create");
  expect([sent, page.valueOf("Name"), page.texts("small")]).toEqual([1, "tea", ["a hint"]]);
  const disabled = await drawPage(card({ button: "Save", disabled: true }));
  expect(disabled.submit("Save")).rejects.toThrow("disabled");
  await closePage();
  const send = (sendBy: Action["send"]) => sendBy("POST", "tea/", {}, "Made.");
  const answers = { "POST /api/projects/7/tea/": () => new Promise<object>(() => {}) };
  const running = await drawPage(card({ button: "Save", send }), { answers });
  await running.submit("Save");
  expect(running.submit("Save")).rejects.toThrow("disabled");
});

test("a check is set as it is pressed", async () => {
  const set: boolean[] = [];
  const page = await drawPage(<CheckField label="All" value={false} set={(on) => set.push(on)} />);
  await page.fill("All", "on");
  await page.fill("All", "off");
  expect(set).toEqual([true, false]);
});
