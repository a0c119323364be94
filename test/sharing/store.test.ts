// Rows of links: what changes them, and what does not find them any more.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { claimResult, findLinks, getResult, storeResult, upsertSharing } from "../../src/sharing/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp, startMsMax);

let sql: Postgres;
let project_id: number;
beforeAll(async () => {
  const accounts = await openFirstAccounts();
  later(() => accounts.close());
  ({ sql, project_id } = accounts);
}, startMsMax);

const now = new Date("2026-03-04T10:00:00Z");

async function change(target: string, more: object, token_hash = `sha256$${target}`) {
  const fresh = { token_hash, token_sealed: new Uint8Array([1]), now };
  await upsertSharing(sql, { project_id, kind: "insight", target }, fresh, more);
  return (await findLinks(sql, [token_hash, `sha256$${target}`], now)).get(token_hash);
}

test("a link is found by its token while it is enabled and has not ended", async () => {
  expect(await change("1", {})).toBeUndefined();
  expect(await change("1", { enabled: true })).toMatchObject({
    target: "1",
    password_ids: null,
    embed_hosts: [],
  });
  expect(await change("1", { expires_at: "2026-03-04T10:00:01Z" })).toMatchObject({ target: "1" });
  expect(await change("1", { expires_at: "2026-03-04T10:00:00Z" })).toBeUndefined();
  expect(await change("1", { expires_at: null, password_required: true })).toMatchObject({
    password_ids: [],
  });
  expect(await change("1", { enabled: false }, "sha256$new")).toBeUndefined();
  expect(await change("1", { enabled: true }, "sha256$new")).toMatchObject({ target: "1" });
});

test("results that were computed with other properties are forgotten, and not stored", async () => {
  const link = (await change("2", { enabled: true, shown_properties: ["properties.a"] }))!;
  const claim = { now, since: now, until: new Date(now.getTime() + 1000) };
  expect(await claimResult(sql, link.id, claim)).toBe(true);
  await storeResult(sql, link, { result: "old", not_shown: [], computed_at: now });
  expect((await getResult(sql, link.id))?.result).toBe("old");
  await change("2", { shown_properties: [] });
  expect(await getResult(sql, link.id)).toBeUndefined();
  expect(await claimResult(sql, link.id, claim)).toBe(true);
  await storeResult(sql, link, { result: "with a", not_shown: [], computed_at: now });
  expect(await getResult(sql, link.id)).toBeUndefined();
});
