// Small parts of pages: what a reply shows until it is there, what is cut.

import { afterEach, expect, setSystemTime, test } from "bun:test";
import { Refusal } from "../../../../src/console/app/session/api.ts";
import type { Action, Loaded } from "../../../../src/console/app/session/use_loaded.ts";
import {
  Cut,
  NoSuch,
  Outcome,
  PageHead,
  PageWhenLoaded,
  Status,
  Time,
  WhenLoaded,
} from "../../../../src/console/app/ui/parts.tsx";
import { closePage, drawPage } from "../drawn_page.tsx";

afterEach(async () => {
  await closePage();
  setSystemTime();
});

const loaded = (more: Partial<Loaded<string>>): Loaded<string> => ({
  value: undefined,
  error: undefined,
  loading: false,
  isOld: false,
  reload: () => {},
  ...more,
});
const action = (more: Partial<Action> = {}): Action => ({
  running: false,
  error: undefined,
  done: "",
  run: () => {},
  send: () => {},
  ...more,
});
const refusal = new Refusal(400, "Not that.");

test("a reply is loading, then there, and stays there beside the error of the next", async () => {
  const shown = async (more: Partial<Loaded<string>>) => {
    const page = await drawPage(<WhenLoaded loaded={loaded(more)}>{(value) => <b>{value}</b>}</WhenLoaded>);
    return page.text();
  };
  expect(await shown({ loading: true })).toBe("Loading …");
  expect(await shown({ value: "tea", loading: true })).toBe("tea");
  expect(await shown({ value: "tea", error: refusal })).toBe("Not that.Try againtea");
  expect(await shown({ error: refusal })).toBe("Not that.Try again");
});

test("rows of the question before open nothing, what stands beside them does", async () => {
  const pressed: string[] = [];
  const rows = (
    <>
      <button type="button" onClick={() => pressed.push("beside")}>
        Beside
      </button>
      <ul class="bars">
        <li>
          <button type="button" onClick={() => pressed.push("row")}>
            Row
          </button>
        </li>
      </ul>
    </>
  );
  const old = await drawPage(
    <WhenLoaded loaded={loaded({ value: "x", isOld: true })}>{() => rows}</WhenLoaded>,
  );
  await old.press("Row");
  await old.press("Beside");
  expect(pressed).toEqual(["beside"]);
  const next = await drawPage(<WhenLoaded loaded={loaded({ value: "x" })}>{() => rows}</WhenLoaded>);
  await next.press("Row");
  expect(pressed).toEqual(["beside", "row"]);
});

test("a page has one heading, before its reply and with it, and the document is titled by it", async () => {
  const page = (value?: string) => (
    <PageWhenLoaded loaded={loaded({ value, loading: value === undefined })} title="Export">
      {(name) => <PageHead title={name} />}
    </PageWhenLoaded>
  );
  expect((await drawPage(page())).texts("h1")).toEqual(["Export"]);
  const shown = await drawPage(page("Nightly"));
  expect(shown.texts("h1")).toEqual(["Nightly"]);
  expect(shown.document.title).toBe("Nightly · Sluice");
});

test.each([
  [200, "x".repeat(200)],
  [201, `${"x".repeat(199)}…`],
])("a heading of %d letters is %s", async (letters, text) => {
  const page = await drawPage(<PageHead title={"x".repeat(letters)} />);
  expect(page.texts("h1")).toEqual([text]);
});

test("a text that is cut has the whole of it at hand, one that fits has nothing", async () => {
  const page = await drawPage(
    <>
      <p>
        <Cut text="twelve chars" lettersMax={5} />
      </p>
      <p>
        <Cut text="five!" lettersMax={5} />
      </p>
    </>,
  );
  expect(page.texts("p")).toEqual(["twel…", "five!"]);
  expect(page.find("span").getAttribute("title")).toBe("twelve chars");
  expect(page.document.querySelectorAll("p span")).toHaveLength(1);
});

test("an outcome is announced, a failure in the API's words, and nothing else", async () => {
  const texts = async (more: Partial<Action>) => {
    const page = await drawPage(<Outcome action={action(more)} />);
    const [status] = page.document.querySelectorAll('[role="status"]');
    return [page.text(), status!.hasAttribute("hidden")];
  };
  expect(await texts({})).toEqual(["", true]);
  expect(await texts({ done: "Saved." })).toEqual(["Saved.", false]);
  expect(await texts({ error: refusal })).toEqual(["Not that.", true]);
  const many = new Refusal(429, "Wait.");
  expect(await texts({ error: many })).toEqual(["Wait. (too many requests)", true]);
});

test("a state is good, bad or neither; a time is how long ago, and none is a dash", async () => {
  setSystemTime(new Date("2026-03-02T00:00:00Z"));
  const page = await drawPage(
    <>
      {["Completed", "FailedRetryable", "Starting", "completed"].map((text) => (
        <Status key={text} text={text} />
      ))}
      <em>
        <Time at="2026-03-01T00:00:00Z" />
      </em>
      <em>
        <Time at={null} />
      </em>
    </>,
  );
  const classes = [...page.document.querySelectorAll(".status")].map(({ className }) => className.trim());
  expect(classes).toEqual(["status good", "status bad", "status", "status"]);
  expect(page.texts("em")).toEqual(["24 h ago", "–"]);
  expect(page.find("time").getAttribute("datetime")).toBe("2026-03-01T00:00:00Z");
});

test("an address that names nothing says what was looked for, a long name cut", async () => {
  const page = await drawPage(<NoSuch title="Insights" what="insight" name={"y".repeat(300)} />);
  expect(page.texts('[role="alert"]')).toEqual([
    `There is no insight ${"y".repeat(199)}… here, or it is not shown to you.`,
  ]);
});
