// The fields of an export's destination: those that the API knows, and what is sent of them.

import { afterEach, expect, test } from "bun:test";
import { destinations as known } from "../../../../src/batch_exports/destinations/destinations.ts";
import { readRoute } from "../../../../src/console/app/session/route.ts";
import { closePage, drawPage, inDocument } from "../drawn_page.tsx";

const { Exports } = await inDocument(() => import("../../../../src/console/app/batch_exports/exports.tsx"));
const { destinations, toDestination } =
  await import("../../../../src/console/app/batch_exports/settings.tsx");

afterEach(closePage);

test("each destination has the fields that the API knows, no more and no fewer, with its secrets and duties", () => {
  const { NoOp, ...written } = known;
  expect(NoOp).toBeDefined();
  expect(Object.keys(destinations)).toEqual(Object.keys(written));
  for (const [type, { fields }] of Object.entries(written)) {
    const own = destinations[type]!;
    expect([type, Object.keys(own).toSorted()]).toEqual([type, Object.keys(fields).toSorted()]);
    for (const [name, { kind = "text", required = false, first }] of Object.entries(own)) {
      const field = fields[name]!;
      const kinds = { str: ["text", "password"], int: ["number"], bool: ["check"], list: ["lines"] };
      expect([type, name, kinds[field.kind]]).toEqual([type, name, expect.arrayContaining([kind])]);
      expect([name, required]).toEqual([name, field.required === true]);
      if (kind === "password") expect([name, field.secret]).toEqual([name, true]);
      if (first !== undefined && name !== "file_format") expect(first).toBe(String(field.otherwise));
    }
  }
});

test("what is left empty, or belongs to another destination, is not sent; numbers and lists are", () => {
  const settings = { host: "db", port: "6432", password: "p", url: "x", include_events: " a, b \n\nc" };
  expect(toDestination("Postgres", { ...settings, has_self_signed_cert: true, user: "" })).toEqual({
    type: "Postgres",
    config: {
      host: "db",
      port: 6432,
      password: "p",
      schema: "public",
      table_name: "events",
      has_self_signed_cert: true,
      include_events: ["a, b", "c"],
    },
  });
});

test("an export is made from its fields, and what was filled in stays when another destination has it", async () => {
  const list = { results: [], count: 0 };
  const post = "POST /api/projects/7/batch_exports/";
  const answers = { "GET /api/projects/7/batch_exports/": list, [post]: { id: "x" } };
  const page = await drawPage(<Exports route={readRoute("#/7/exports")} />, { answers, hash: "/7/exports" });
  await page.fill("Name of the export", "Lake");
  await page.fill("Prefix", "shop/");
  await page.fill("Destination", "File");
  await page.fill("Compression", "zstd");
  await page.submit("Create");
  expect(page.asked.find(({ method }) => method === "POST")?.body).toEqual({
    name: "Lake",
    model: "events",
    interval: "hour",
    destination: { type: "File", config: { prefix: "shop/", file_format: "Parquet", compression: "zstd" } },
  });
});
