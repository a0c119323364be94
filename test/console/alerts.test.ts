// An alert, made from an insight's page as a person would, checked, told to a webhook, and listed with its history.

import { expect } from "bun:test";
import { cleanUpEach } from "../support/cleanup.ts";
import { faultsOfState, inBrowser, msMax, openConsole, settled } from "../support/console.ts";
import { until } from "../support/server.ts";

cleanUpEach();

const desk = openConsole(() =>
  [1, 1, 1].map((ago) => ({
    event: "seen",
    distinct_id: "ann",
    timestamp: new Date(Date.now() - ago * 86_400_000).toISOString(),
    properties: {},
  })),
);

const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "seen" }] };

inBrowser(
  "an alert is made from its insight, fires, is listed with its history, snoozed, paused and deleted",
  async () => {
    const { id } = await desk.api("POST", "insights/", { name: "Seen", query });
    const page = await desk.opened(`insights/${String(id)}`);
    await page.getByRole("link", { name: "Alerts" }).last().click();
    await page.getByText("No alerts yet.").waitFor();
    expect(await page.getByLabel("Insight", { exact: true }).inputValue()).toBe(String(id));
    await page.getByLabel("Tell when it").selectOption("is above");
    await page.getByLabel("Amount").fill("2");
    await page.getByLabel("Name").fill("Much seen");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Created.").waitFor();
    const readOne = async () =>
      ((await desk.api("GET", "alerts/"))["results"] as Record<string, unknown>[])[0]!;
    await until(async () => (await readOne())["state"] === "Firing");
    await page.reload();
    await settled(page);
    expect(await faultsOfState(page, "alerts")).toEqual([]);
    await page.getByRole("link", { name: "Much seen" }).click();
    await page.getByRole("cell", { name: "Firing" }).waitFor();
    expect(await faultsOfState(page, "alert")).toEqual([]);
    await page.getByRole("button", { name: "Snooze a day" }).click();
    await page.getByText("Snoozed for a day.").waitFor();
    expect(await readOne()).toMatchObject({ state: "Snoozed" });
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The alert is paused.").waitFor();
    expect(await readOne()).toMatchObject({ enabled: false });
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Yes, delete" }).click();
    await page.getByText("No alerts yet.").waitFor();
  },
  msMax,
);
