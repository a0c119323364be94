// The server's figures as the live page shows them: of the last message, and of the seconds before it.

import { afterEach, expect, test } from "bun:test";
import type { FiguresMessage } from "../../../../src/console/app/live/rates.ts";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Fates, FigureCards } = await inDocument(() => import("../../../../src/console/app/live/figures.tsx"));

afterEach(closePage);

const message = (more: Partial<FiguresMessage>): FiguresMessage => ({
  at: 0,
  accepted: {},
  stored: {},
  ignored: {},
  warned: {},
  refused: {},
  pending_events: 0,
  pending_bytes: 0,
  quarantined: 0,
  spikes: 0,
  disk_free_bytes: 5_000_000_000,
  captures: { count: 0, seconds: 0 },
  behind_ms: 0,
  ...more,
});

/** Each figure as [name, value, note]. */
async function figuresOf(history: readonly FiguresMessage[]): Promise<Record<string, string[]>> {
  const page = await drawPage(<FigureCards history={history} />);
  const figures = [...page.document.querySelectorAll(".figure")];
  return Object.fromEntries(
    figures.map((one) => [
      one.querySelector("h3")!.textContent!,
      [one.querySelector(".big")!.textContent!, one.querySelector(".quiet")!.textContent!, one.className],
    ]),
  );
}

test("a lane's figure is what it accepted a second, beside what it accepted since the start", async () => {
  const history = [0, 1, 2].map((i) => message({ at: i * 1000, accepted: { live: 1000 + i * 40 } }));
  const figures = await figuresOf(history);
  expect(figures["Live events / s"]).toEqual(["40", "1,080 since the start", "figure"]);
  expect(figures["Imported events / s"]).toEqual(["0", "0 since the start", "figure"]);
});

test("the time of a capture is the mean of the last five seconds, not of the whole time", async () => {
  const counts = [0, 1000, 1010, 1020, 1030, 1040, 1050];
  const history = counts.map((count, i) =>
    // The first second was slow.
    message({ at: i * 1000, captures: { count, seconds: i === 0 ? 0 : 100 + (count - 1000) * 0.002 } }),
  );
  const refusing = [
    ...history.slice(0, -1),
    { ...history.at(-1)!, refused: { unauthorized: 2, too_large: 3 } },
  ];
  expect((await figuresOf(refusing))["Time to answer a capture"]!.slice(0, 2)).toEqual([
    "2 ms",
    "mean of the last seconds; 5 refused",
  ]);
});

test("what is not known is none, and what is quarantined stands out", async () => {
  const figures = await figuresOf([
    message({ behind_ms: null, quarantined: 3, pending_events: 7, pending_bytes: 2048 }),
  ]);
  expect(figures["Accepted to stored"]![0]).toBe("unknown");
  expect(figures["Time to answer a capture"]![0]).toBe("–");
  expect(figures["Quarantined"]!.filter((_, i) => i !== 1)).toEqual(["3", "figure bad"]);
  expect(figures["Journal pending"]!.slice(0, 2)).toEqual(["7", "2 KiB on disk, not stored yet"]);
  // Clocks of two machines may differ.
  expect((await figuresOf([message({ behind_ms: -400 })]))["Accepted to stored"]![0]).toBe("0 s");
  expect(await figuresOf([])).toEqual({});
});

test("reasons are listed where there are any, those that never happened are not", async () => {
  const last = message({ ignored: { missing_event: 1500, quota: 0 }, refused: {} });
  const page = await drawPage(<Fates last={last} />);
  expect(page.texts("dt")).toEqual(["Ignored", "Warned", "Requests refused"]);
  expect(page.texts("dd")).toEqual(["missing event: 1,500", "none", "none"]);
});
