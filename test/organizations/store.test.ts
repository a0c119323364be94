import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  oldestOrganizationId,
  removeOrganization,
} from "../../src/organizations/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { addUser, type FirstAccounts, holderOf, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

test("an organization looks as its members see it", async () => {
  const { sql, organization_id, project_id, project_api_key, user_id } = accounts;
  const organization = await getOrganization(sql, organization_id, user_id);
  expect(organization).toMatchObject({
    id: organization_id,
    name: "Default organization",
    slug: "default-organization",
    logo_media_id: null,
    membership_level: 15,
    plugins_access_level: 9,
    teams: [{ id: project_id, project_id, organization: organization_id, api_token: project_api_key }],
    projects: [{ id: project_id, organization_id, name: "Default project" }],
    available_product_features: [],
    is_member_join_email_enabled: true,
    metadata: '{"instance_tag":"none"}',
    customer_id: null,
    enforce_2fa: null,
    member_count: "1",
    is_ai_data_processing_approved: null,
  });
});

test("strangers see no organization", async () => {
  const stranger = await addUser(accounts.sql, "stranger@example.com");
  expect(await getOrganization(accounts.sql, accounts.organization_id, stranger)).toBeUndefined();
});

test("whoever makes an organization owns it, and it becomes their current one", async () => {
  const { sql } = accounts;
  const owner_id = await addUser(sql, "owner@example.com");
  const id = await createOrganization(sql, { name: "Hedgebox", owner_id, project_name: "Boxes" });
  const made = await getOrganization(sql, id, owner_id);
  expect(made).toMatchObject({ name: "Hedgebox", slug: "hedgebox", membership_level: 15 });
  const [user] =
    await sql`SELECT current_organization_id, current_project_id FROM users WHERE id = ${owner_id}`;
  expect({ ...user }).toEqual({ current_organization_id: id, current_project_id: made?.projects[0]?.id });
  expect(await oldestOrganizationId(sql)).toBe(accounts.organization_id);
});

test("organizations may share a name, and never a slug", async () => {
  const { sql, user_id: owner_id } = accounts;
  const slugs = new Set<string | undefined>();
  for (let i = 0; i < 5; i += 1) {
    const id = await createOrganization(sql, { name: "Same name", owner_id, project_name: "P" });
    slugs.add((await getOrganization(sql, id, owner_id))?.slug);
  }
  expect(slugs.size).toBe(5);
  expect(slugs).toContain("same-name");
});

test("an organization's users survive it, without a current one", async () => {
  const { sql } = accounts;
  const owner_id = await addUser(sql, "survivor@example.com");
  const id = await createOrganization(sql, { name: "Ends", owner_id, project_name: "Ends too" });
  await sql`DELETE FROM organizations WHERE id = ${id}`;
  const [user] =
    await sql`SELECT current_organization_id, current_project_id FROM users WHERE id = ${owner_id}`;
  expect({ ...user }).toEqual({ current_organization_id: null, current_project_id: null });
});

test("a page of organizations reads all projects once, even if one organization has all of them", async () => {
  const { sql } = accounts;
  const many = 2000;
  const user_id = await addUser(sql, "many@example.com");
  const first = await createOrganization(sql, { name: "Many", owner_id: user_id, project_name: "P" });
  await sql.unsafe(`
    INSERT INTO projects OVERRIDING SYSTEM VALUE
    SELECT (jsonb_populate_record(one, jsonb_build_object(
      'id', 100000 + n, 'uuid', gen_random_uuid(), 'api_token', 'phc_copy_' || n))).*
    FROM (SELECT one FROM projects AS one WHERE organization_id = '${first}') AS t, generate_series(1, ${many}) AS n`);
  await sql.unsafe(`
    INSERT INTO organizations
    SELECT (jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), 'slug', 'copy-' || n))).*
    FROM (SELECT one FROM organizations AS one WHERE id = '${first}') AS t, generate_series(1, ${many}) AS n`);
  await sql.unsafe(`
    INSERT INTO organization_memberships (organization_id, user_id, level)
    SELECT id, ${user_id}, 15 FROM organizations WHERE slug LIKE 'copy-%'`);
  await sql`UPDATE projects SET organization_id = ${first}`;
  await sql`ANALYZE`;
  const { listed, read } = await sql.begin(async (transaction) => {
    // What this connection did a moment before counts, too.
    const readSoFar = async (): Promise<number> => {
      const [row] = await transaction<{ rows: number }[]>`
        SELECT (seq_tup_read + idx_tup_fetch)::float8 AS rows FROM pg_stat_xact_user_tables WHERE relname = 'projects'`;
      return row!.rows;
    };
    const before = await readSoFar();
    const reader = holderOf(user_id);
    const page = { limit: many, offset: 0 };
    const listed = await listOrganizations(transaction as unknown as Postgres, reader, page);
    return { listed, read: (await readSoFar()) - before };
  });
  expect([listed.count, listed.rows.length]).toEqual([many + 1, many]);
  const [projects] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM projects`;
  expect(listed.rows.map(({ teams }) => teams.length).filter((length) => length > 0)).toEqual([projects!.n]);
  expect(listed.rows.find(({ id }) => id === first)?.projects).toHaveLength(projects!.n);
  expect(read).toBeLessThanOrEqual(projects!.n);
}, 300_000);

test("a user owns a thousand organizations at most", async () => {
  const owner_id = await addUser(accounts.sql, "collector@example.com");
  const make = () => createOrganization(accounts.sql, { name: "One more", owner_id, project_name: "P" });
  await accounts.sql`
    WITH made AS (
      INSERT INTO organizations (id, name, slug)
      SELECT gen_random_uuid(), 'Owned', 'owned-' || i FROM generate_series(1, 999) AS i RETURNING id
    )
    INSERT INTO organization_memberships (organization_id, user_id, level) SELECT id, ${owner_id}, 15 FROM made`;
  const last = await make();
  await expect(make()).rejects.toMatchObject({ code: "invalid_input" });
  await removeOrganization(accounts.sql, last, owner_id);
  expect(await make()).toBeString();
});
