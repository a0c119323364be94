// Notes about definitions in Postgres: tags of several at once, changed beside one another.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { definitionQueryLimits } from "../../src/definitions/limits.ts";
import { changeNoteTags } from "../../src/definitions/note_store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import type { TagAction } from "../../src/storage/postgres/tags.ts";
import { openFirstAccounts, startMsMax } from "../support/accounts.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp, startMsMax);

let sql: Postgres;
let by: { project_id: number; user_id: number };
const ids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];

beforeAll(async () => {
  const accounts = await openFirstAccounts();
  later(() => accounts.close());
  ({ sql } = accounts);
  const [user] = await sql<{ id: number }[]>`SELECT id FROM users ORDER BY id LIMIT 1`;
  by = { project_id: accounts.project_id, user_id: user!.id };
}, startMsMax);

const change = (action: TagAction, tags: string[], of = ids) => changeNoteTags(sql, by, of, { action, tags });
const stored = () => sql`SELECT id, tags, updated_at FROM definition_notes ORDER BY id`;

test("tags that several people add at once are all kept", async () => {
  const words = Array.from({ length: 8 }, (_, i) => `word ${i}`);
  await Promise.all(words.map((word, i) => change("add", [word], i % 2 === 0 ? ids : ids.toReversed())));
  const rows = await stored();
  expect(rows).toHaveLength(2);
  for (const { tags } of rows) expect(tags.toSorted()).toEqual(words);
});

test("what has these tags already is answered, and not written", async () => {
  await change("set", ["a", "b"]);
  const before = await stored();
  const both = ids.map((id) => ({ id, tags: ["a", "b"] }));
  expect([await change("add", ["b"]), await change("remove", ["c"])]).toEqual([both, both]);
  expect(await stored()).toEqual(before);
  const unknown = "00000000-0000-4000-8000-000000000003";
  expect(await change("remove", ["a"], [unknown])).toEqual([{ id: unknown, tags: [] }]);
  expect(await stored()).toEqual(before);
});

test("definitions past the bound of notes are left out, and the others changed", async () => {
  await sql`DELETE FROM definition_notes`;
  await sql`
    INSERT INTO definition_notes (project_id, id)
    SELECT ${by.project_id}, gen_random_uuid() FROM generate_series(2, ${definitionQueryLimits.notesPerProjectMax})`;
  expect(await change("add", ["a"])).toEqual([{ id: ids[0]!, tags: ["a"] }]);
  expect(await change("set", ["b"])).toEqual([{ id: ids[0]!, tags: ["b"] }]);
});
