import { afterAll, beforeAll, expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import {
  createProject,
  getProject,
  listAllProjects,
  listProjects,
  removeProject,
  updateProject,
} from "../../src/projects/store.ts";
import { type FirstAccounts, holderOf, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

async function faultOf(work: Promise<unknown>): Promise<unknown> {
  const reason: unknown = await work.catch((thrown: unknown) => thrown);
  return reason instanceof Fault ? { code: reason.code, attr: reason.attr } : reason;
}

test("a project gets a key of its own, or the one it is given", async () => {
  const { sql, organization_id } = accounts;
  const own = await createProject(sql, { organization_id, name: "Own key" });
  expect(own.api_token).toMatch(/^phc_[0-9A-Za-z]{43}$/);
  const given = await createProject(sql, { organization_id, name: "Given key", api_token: "given-key" });
  expect(given.api_token).toBe("given-key");
  expect(await getProject(sql, given.id)).toEqual(given);
});

test("two projects cannot have one key", async () => {
  const { sql, organization_id, project_api_key } = accounts;
  const again = createProject(sql, { organization_id, name: "Again", api_token: project_api_key });
  expect(await faultOf(again)).toEqual({ code: "conflict", attr: "api_token" });
});

test("a project needs an organization that exists", async () => {
  const lost = createProject(accounts.sql, { organization_id: crypto.randomUUID(), name: "Lost" });
  expect(await faultOf(lost)).toEqual({ code: "does_not_exist", attr: "organization" });
});

test("what is not given stays as it is", async () => {
  const { sql, organization_id } = accounts;
  const before = await createProject(sql, { organization_id, name: "Before" });
  const after = await updateProject(sql, before.id, { session_recording_opt_in: true });
  expect(after).toEqual({ ...before, session_recording_opt_in: true, updated_at: after?.updated_at ?? "" });
  expect(await updateProject(sql, before.id, { name: "After" })).toMatchObject({
    name: "After",
    session_recording_opt_in: true,
  });
  expect(await updateProject(sql, 999_999, { name: "Nobody" })).toBeUndefined();
});

test("a removed project is gone, and can be removed once", async () => {
  const { sql, organization_id } = accounts;
  const { id } = await createProject(sql, { organization_id, name: "Short-lived" });
  expect(await removeProject(sql, id)).toBe(true);
  expect(await removeProject(sql, id)).toBe(false);
  expect((await listAllProjects(sql)).map((project) => project.id)).not.toContain(id);
});

test("the list is planned for its first five readers, and not for each", async () => {
  const { sql, user_id } = accounts;
  const reader = holderOf(user_id);
  for (let i = 0; i < 20; i++) await listProjects(sql, reader, { limit: 100, offset: 0 });
  // One after the other, all of them went to one backend, and so does this.
  const planned = await sql<{ generic: number; custom: number }[]>`
    SELECT generic_plans::integer AS generic, custom_plans::integer AS custom FROM pg_prepared_statements
    WHERE statement LIKE '%FROM projects p%LIMIT%' AND generic_plans + custom_plans >= 20`;
  expect(planned.map(({ custom }) => custom)).toEqual([5]);
});
