// Batch exports in Postgres: changed as they were read, paused, deleted with all they began, and apart in their folders.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { exportLimits } from "../../../src/batch_exports/limits.ts";
import {
  canCreate,
  createExport,
  type ExportFields,
  getExport,
  homeProject,
  listExports,
  removeExport,
  setPaused,
  type StoredExport,
  updateExport,
  withOwnPath,
  withRuns,
} from "../../../src/batch_exports/stores/export_store.ts";
import { Fault } from "../../../src/core/fault.ts";
import { createOrganization } from "../../../src/organizations/store.ts";
import { createProject } from "../../../src/projects/store.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";

let accounts: FirstAccounts;
let other: number;
let strange: { organization_id: string; project_id: number };

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, organization_id } = accounts;
  other = (await createProject(sql, { organization_id, name: "Other", timezone: "UTC" })).id;
  const owner_id = await addUser(sql, "strange@example.com");
  const theirs = await createOrganization(sql, { name: "Theirs", owner_id, project_name: "Theirs" });
  const [row] = await sql<{ id: number }[]>`SELECT id FROM projects WHERE organization_id = ${theirs}`;
  strange = { organization_id: theirs, project_id: row!.id };
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`TRUNCATE batch_exports CASCADE`;
});

const now = new Date("2026-03-01T12:00:00Z");
const later = new Date("2026-03-01T13:00:00Z");
const fields: ExportFields = {
  name: "Nightly",
  model: "events",
  interval: "hour",
  paused: false,
  last_paused_at: null,
  start_at: "2026-01-01T00:00:00.123456Z",
  end_at: null,
  native_query: null,
  timezone: "Europe/Berlin",
  offset_day: 0,
  offset_hour: 3,
  filters: null,
  destination_type: "HTTP",
  destination_config: { url: "https://sink.example/" },
  destination_secrets: new Uint8Array([1, 2, 3]),
};

async function made(
  more: Partial<ExportFields> = {},
  project_id = accounts.project_id,
): Promise<StoredExport> {
  const founding = { ...fields, ...more, project_id, created_by: accounts.user_id, now };
  return (await createExport(accounts.sql, founding))!;
}
const own = () => ({ project_id: accounts.project_id });

test("an export is read as it was made, with the microseconds of its moments", async () => {
  const { id } = await made();
  const row = await getExport(accounts.sql, own(), id);
  const { destination_secrets: _, ...plain } = fields;
  expect(row).toMatchObject({ ...plain, start_at: "2026-01-01T00:00:00.123456Z" });
  expect([...row!.destination_secrets]).toEqual([1, 2, 3]);
  expect([row!.scheduled_until, row!.created_at]).toEqual([now, now]);
  expect(await withRuns(accounts.sql, [row!])).toMatchObject([{ id, latest_runs: [] }]);
});

test("an export is found in its project and its organization, and nowhere else", async () => {
  const { sql, organization_id } = accounts;
  const { id } = await made();
  const seen = async (place: Parameters<typeof getExport>[1]) => [
    (await getExport(sql, place, id))?.id,
    (await listExports(sql, place, { limit: 10, offset: 0 })).count,
  ];
  expect(await seen({ organization_id })).toEqual([id, 1]);
  expect(await seen({ project_id: other })).toEqual([undefined, 0]);
  expect(await seen({ organization_id: strange.organization_id })).toEqual([undefined, 0]);
  expect(await removeExport(sql, { project_id: other }, id, now)).toBe(false);
});

test("of two changes of one reading the second is none", async () => {
  const read = await made();
  const changed = await updateExport(accounts.sql, read, { ...fields, name: "First" }, later);
  expect(changed).toMatchObject({ name: "First", last_updated_at: later });
  expect(await updateExport(accounts.sql, read, { ...fields, name: "Second" }, later)).toBeUndefined();
  expect((await getExport(accounts.sql, own(), read.id))?.name).toBe("First");
});

test("a resumed export goes on with the present interval, a change of anything else leaves its schedule", async () => {
  const paused = await made({ paused: true });
  const renamed = await updateExport(accounts.sql, paused, { ...fields, paused: true, name: "x" }, later);
  expect(renamed!.scheduled_until).toEqual(now);
  expect((await updateExport(accounts.sql, renamed!, fields, later))!.scheduled_until).toEqual(later);
});

test("pausing what is paused changes nothing, and resuming moves the schedule on", async () => {
  const { id } = await made();
  const paused = await setPaused(accounts.sql, id, true, later);
  expect(paused).toMatchObject({
    paused: true,
    scheduled_until: now,
    last_paused_at: "2026-03-01T13:00:00Z",
  });
  expect(await setPaused(accounts.sql, id, true, later)).toBeUndefined();
  expect(await setPaused(accounts.sql, id, false, later)).toMatchObject({
    paused: false,
    scheduled_until: later,
  });
});

test("a deleted export is gone with its secrets, and what it began is cancelled", async () => {
  const { sql } = accounts;
  const { id } = await made();
  for (const status of ["Running", "Completed"]) {
    await sql`
      INSERT INTO batch_export_runs (id, batch_export_id, status, data_interval_end, next_attempt_at, created_at, last_updated_at)
      VALUES (${crypto.randomUUID()}, ${id}, ${status}, ${status === "Running" ? now : later}, ${now}, ${now}, ${now})`;
  }
  expect(await removeExport(sql, own(), id, later)).toBe(true);
  expect(await removeExport(sql, own(), id, later)).toBe(false);
  expect(await getExport(sql, own(), id)).toBeUndefined();
  const [row] = await sql<
    { bytes: number }[]
  >`SELECT length(destination_secrets) AS bytes FROM batch_exports WHERE id = ${id}`;
  expect(row?.bytes).toBe(0);
  const runs = await sql<{ status: string }[]>`SELECT status FROM batch_export_runs ORDER BY status`;
  expect(runs.map(({ status }) => status)).toEqual(["Cancelled", "Completed"]);
});

test("a project has so many exports, deleted ones not counted, and no more", async () => {
  const { sql, project_id } = accounts;
  const { id } = await made();
  await sql`
    INSERT INTO batch_exports (id, project_id, created_by, created_at, last_updated_at, scheduled_until, name, model, "interval",
      paused, destination_type, destination_config, destination_secrets)
    SELECT gen_random_uuid(), project_id, created_by, created_at, last_updated_at, scheduled_until, name, model, "interval",
      paused, destination_type, destination_config, destination_secrets
    FROM batch_exports, generate_series(2, ${exportLimits.exportsPerProjectMax}::integer)`;
  expect(await canCreate(sql, { project_id })).toBe(false);
  expect(await made()).toBeUndefined();
  expect(await canCreate(sql, { project_id: other })).toBe(true);
  await removeExport(sql, own(), id, later);
  expect(await made()).toBeDefined();
});

test("no two exports write files to the same folder, of whichever project, at the same moment", async () => {
  const { sql } = accounts;
  const file = (path: string): ExportFields => ({
    ...fields,
    destination_type: "File",
    destination_config: { path, file_format: "JSONLines" },
  });
  const write = (path: string, project_id: number) =>
    withOwnPath(sql, { ...file(path), project_id }, undefined, (tx) =>
      createExport(tx, { ...file(path), project_id, created_by: accounts.user_id, now }),
    );
  const both = await Promise.allSettled([write("lake", accounts.project_id), write("lake", other)]);
  const [refused, ...more] = both.flatMap((one) => (one.status === "rejected" ? [one.reason as Fault] : []));
  expect([refused!.code, refused!.attr, more.length]).toEqual([
    "invalid_input",
    "destination__config__path",
    0,
  ]);
  expect(await write("river", accounts.project_id)).toBeDefined();
});

test("a new export under an organization is of the project named, else the current one, else the oldest", async () => {
  const { sql, organization_id, project_id } = accounts;
  const home = (named: number | undefined, current: number | null) =>
    homeProject(sql, organization_id, named, current);
  expect(await home(other, project_id)).toBe(other);
  expect(await home(undefined, other)).toBe(other);
  expect(await home(undefined, null)).toBe(project_id);
  expect(await home(strange.project_id, null)).toBeUndefined();
  expect(await home(undefined, strange.project_id)).toBe(project_id);
});
