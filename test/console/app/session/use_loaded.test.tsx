// Requests of a page: what is shown while another question is asked, what is asked again, and how often.

import { afterEach, expect, jest, test } from "bun:test";
import { useState } from "preact/hooks";
import { Refusal, ServerUnreachable } from "../../../../src/console/app/session/api.ts";
import {
  retryMs,
  useAction,
  useList,
  useLoaded,
  usePolling,
} from "../../../../src/console/app/session/use_loaded.ts";
import { useDraft } from "../../../../src/console/app/ui/inputs.tsx";
import { type Answers, closePage, drawPage, refused } from "../drawn_page.tsx";

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
});

/** Shows the state of a load, of a question that a button changes. */
function Loading({ load }: { load: (question: string, signal: AbortSignal) => Promise<string> }) {
  const [question, setQuestion] = useState("a");
  const asked = useLoaded((signal) => load(question, signal), [question]);
  const { value = "nothing", error, loading, isOld } = asked;
  return (
    <>
      <p class="state">
        {`${value}${loading ? " loading" : ""}${isOld ? " old" : ""}${error ? ` ${String(error)}` : ""}`}
      </p>
      <button type="button" onClick={() => setQuestion("b")}>
        Next
      </button>
      <button type="button" onClick={asked.reload}>
        Again
      </button>
    </>
  );
}

test("the value before stays until the next is there, and says that it is of the question before", async () => {
  const second = Promise.withResolvers<string>();
  const page = await drawPage(
    <Loading load={(question) => (question === "a" ? Promise.resolve("first") : second.promise)} />,
  );
  expect(page.texts(".state")).toEqual(["first"]);
  await page.press("Next");
  expect(page.texts(".state")).toEqual(["first loading old"]);
  second.resolve("second");
  await page.settled();
  expect(page.texts(".state")).toEqual(["second"]);
});

test("the answer to an outdated request is not shown, and the request is aborted", async () => {
  const first = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const page = await drawPage(
    <Loading
      load={(question, signal) => {
        signals.push(signal);
        return question === "a" ? first.promise : Promise.resolve("second");
      }}
    />,
  );
  await page.press("Next");
  first.resolve("late");
  await page.settled();
  expect(page.texts(".state")).toEqual(["second"]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

const busy = () => new Refusal(503, "busy");

test.each([
  ["a busy server is asked again five times", busy, 6],
  ["a server that is away is asked again as long as the page is open", () => new ServerUnreachable(), 11],
  ["a refusal is not asked again", () => new Refusal(400, "no"), 1],
])("%s", async (_, error, wanted) => {
  jest.useFakeTimers();
  let asked = 0;
  const page = await drawPage(
    <Loading
      load={async () => {
        asked++;
        throw error();
      }}
    />,
  );
  for (let i = 0; i < 10; i++) {
    jest.advanceTimersByTime(retryMs);
    await page.settled();
  }
  expect(asked).toBe(wanted);
});

test("another request to a busy server is retried as often as the first", async () => {
  jest.useFakeTimers();
  const asked: string[] = [];
  const page = await drawPage(
    <Loading
      load={async (question) => {
        asked.push(question);
        throw busy();
      }}
    />,
  );
  for (let i = 0; i < 4; i++) {
    jest.advanceTimersByTime(retryMs);
    await page.settled();
  }
  await page.press("Next");
  for (let i = 0; i < 10; i++) {
    jest.advanceTimersByTime(retryMs);
    await page.settled();
  }
  expect(asked.join("")).toBe("aaaaabbbbbb");
});

function Polling({ isOpen, again }: { isOpen: boolean; again: () => void }) {
  usePolling(isOpen, isOpen, again);
  return null;
}

test("running work is polled two seconds after the last answer, and ended work is not", async () => {
  jest.useFakeTimers();
  let asked = 0;
  await drawPage(<Polling isOpen again={() => void asked++} />);
  jest.advanceTimersByTime(1999);
  expect(asked).toBe(0);
  jest.advanceTimersByTime(1);
  expect(asked).toBe(1);
  await closePage();
  await drawPage(<Polling isOpen={false} again={() => void asked++} />);
  jest.advanceTimersByTime(60_000);
  expect(asked).toBe(1);
});

function Acting() {
  const { running, error, done, send } = useAction();
  const [after, setAfter] = useState("");
  const act = () =>
    send(
      "POST",
      "/api/act/",
      () => ({ n: 1 }),
      "Done.",
      (reply: { id: number }) => setAfter(`made ${reply.id}`),
    );
  return (
    <>
      <p class="state">{`${running ? "running" : ""}${done}${error ? String(error) : ""} ${after}`}</p>
      <button type="button" onClick={act}>
        Act
      </button>
    </>
  );
}

test("a button does what follows before it says that it is done, and a refusal follows nothing", async () => {
  let answer: object = { id: 5 };
  const page = await drawPage(<Acting />, { answers: { "POST /api/act/": () => answer } });
  await page.press("Act");
  expect(page.texts(".state")).toEqual(["Done. made 5"]);
  answer = refused(400, "not that");
  await page.press("Act");
  expect(page.texts(".state")).toEqual(["Error: not that made 5"]);
});

function Listed() {
  const list = useList<object>("things/", 50, { kind: "x" }, ["name"], ({ name }) => ({ title: name }));
  const { fields, text } = useDraft(list.filter);
  return (
    <>
      {text("name", "Name")}
      <button type="button" onClick={() => list.show({ name: fields["name"]! })}>
        Show
      </button>
      <button type="button" onClick={() => list.page.set(100)}>
        Third page
      </button>
    </>
  );
}

const things: Answers = { "GET /api/projects/7/things/": { results: [], count: 0 } };

test("a list is requested as in the address; an invalid offset is the first row", async () => {
  const page = await drawPage(<Listed />, { answers: things, hash: "/7/things?name=tea&offset=50" });
  expect(page.asked[0]!.query).toEqual({ title: "tea", kind: "x", offset: "50", limit: "50" });
  expect(page.valueOf("Name")).toBe("tea");
  await page.press("Third page");
  expect(location.hash).toBe("#/7/things?name=tea&offset=100");
  await closePage();
  for (const offset of ["-1", "1e3", "12345678901", "x"]) {
    const odd = await drawPage(<Listed />, { answers: things, hash: `/7/things?offset=${offset}` });
    expect(odd.asked[0]!.query["offset"]).toBe("0");
    await closePage();
  }
});

test("another filter begins at the first row, and the filter that is shown is requested again", async () => {
  const page = await drawPage(<Listed />, { answers: things, hash: "/7/things?name=tea&offset=50" });
  await page.fill("Name", "milk");
  await page.press("Show");
  expect(location.hash).toBe("#/7/things?name=milk");
  dispatchEvent(new Event("hashchange"));
  await page.settled();
  expect(page.asked.at(-1)!.query).toMatchObject({ title: "milk", offset: "0" });
  const before = page.asked.length;
  await page.press("Show");
  expect(page.asked.length).toBe(before + 1);
});
