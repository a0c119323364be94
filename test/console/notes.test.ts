// Annotations of charts: made by a click on their day, shown by their mark, changed and removed there.

import { expect } from "bun:test";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfState, inBrowser, msMax, openConsole, settled } from "../support/console.ts";

cleanUpEach();

const days = Array.from({ length: 10 }, (_, i) => `2026-03-${String(i + 1).padStart(2, "0")}`);
const desk = openConsole(() =>
  days.map((day) => ({ event: "seen", distinct_id: "ann", timestamp: `${day}T12:00:00Z`, properties: {} })),
);

const query = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "seen" }],
  dateRange: { date_from: days[0], date_to: days.at(-1) },
};

async function readNotes() {
  const { results } = await desk.api("GET", "annotations/");
  return (results as Record<string, unknown>[]).map(({ content, date_marker, scope, dashboard_item }) => ({
    content,
    date_marker,
    scope,
    dashboard_item,
  }));
}

inBrowser(
  "a click on a day beneath a chart makes a note, whose mark shows, changes and removes it",
  async () => {
    const { id } = await desk.api("POST", "insights/", { name: "Seen", query });
    const page = await desk.opened(`insights/${String(id)}`);
    const axis = page.getByRole("button", { name: "Add a note to a day" });
    const box = (await axis.boundingBox())!;
    await axis.click({ position: { x: (box.width * 3) / 9, y: 10 } });
    expect(await page.getByLabel("Day", { exact: true }).inputValue()).toBe("2026-03-04");
    await page.getByLabel("Note", { exact: true }).fill("Campaign began");
    await page.getByLabel("Shown on").selectOption("This insight");
    await page.getByRole("button", { name: "Add note" }).click();
    const mark = page.getByRole("button", { name: /^Note, .*: Campaign began$/ });
    await mark.waitFor();
    const made = { date_marker: "2026-03-04T00:00:00Z", scope: "dashboard_item", dashboard_item: id };
    expect(await readNotes()).toEqual([{ content: "Campaign began", ...made }]);
    await mark.hover();
    await page.locator(".marks li > span").filter({ hasText: "Campaign began" }).waitFor();
    expect(await faultsOfState(page, "note_shown")).toEqual([]);

    await mark.click();
    await page.getByLabel("Note", { exact: true }).fill("Campaign ended");
    expect(await faultsOfState(page, "note_form")).toEqual([]);
    await page.getByRole("button", { name: "Save note" }).click();
    const changed = page.getByRole("button", { name: /Campaign ended$/ });
    await changed.waitFor();
    expect(await readNotes()).toEqual([{ content: "Campaign ended", ...made }]);
    await changed.click();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Yes, remove" }).click();
    await changed.waitFor({ state: "detached" });
    expect(await readNotes()).toEqual([]);
  },
  msMax,
);

inBrowser(
  "the keyboard makes a note of the chosen day, and a dashboard's notes are on its charts alone",
  async () => {
    const { id: board } = await desk.api("POST", "dashboards/", { name: "Board" });
    await desk.api("POST", "insights/", { name: "On the board", query, dashboards: [board] });
    const page = await desk.opened(`dashboards/${String(board)}`);
    const chart = page.getByRole("group", { name: /^Values of one time/ });
    await chart.focus();
    await chart.press("ArrowRight");
    await chart.press("ArrowRight");
    await page.getByRole("button", { name: "Add a note to a day" }).press("Enter");
    expect(await page.getByLabel("Day", { exact: true }).inputValue()).toBe("2026-03-02");
    await page.getByLabel("Note", { exact: true }).pressSequentially("for the board");
    await page.getByLabel("Shown on").selectOption("This dashboard");
    await page.getByLabel("Note", { exact: true }).press("Enter");
    await page.getByRole("button", { name: /^Note, .*: for the board$/ }).waitFor();
    await desk.api("POST", "annotations/", {
      content: "for all",
      scope: "project",
      date_marker: "2026-03-02T10:00:00Z",
    });
    const { page: other } = { page: await desk.opened("explore?event=seen&range=2026-03-01&to=2026-03-10") };
    await settled(other);
    await other.getByRole("button", { name: /^Note, .*: for all$/ }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: /for the board/ }).click();
    expect(await page.locator(".note-form li").allInnerTexts()).toHaveLength(2);
  },
  msMax,
);
