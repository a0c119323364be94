// A user of their own with an organization, two projects and a key, for tests of who may do what; and a clock that
// only a test moves. Never shared between tests.

import type { Clock } from "../../src/core/clock.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { createProject } from "../../src/projects/store.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { addUser } from "./accounts.ts";

export interface Member {
  user_id: number;
  organization_id: string;
  /** Of the two projects, the one that is not current. */
  project_id: number;
  key_id: string;
  /** The key itself; it opens everything. */
  value: string;
}

export async function addMember(sql: Postgres): Promise<Member> {
  const user_id = await addUser(sql, `${crypto.randomUUID()}@example.com`);
  const founding = { name: "Short", owner_id: user_id, project_name: "First" };
  const organization_id = await createOrganization(sql, founding);
  const project = await createProject(sql, { organization_id, name: "Second" });
  const { id: key_id, value } = await issueKey(sql, user_id, { label: "theirs", scopes: ["*"] });
  return { user_id, organization_id, project_id: project.id, key_id, value };
}

/** `time`: what now() says; `passed`: what elapsed() does. */
export function stillClock(): Clock & { time: number; passed: number } {
  const clock = { time: Date.UTC(2026, 0, 1), passed: 0, now: () => clock.time, elapsed: () => clock.passed };
  return clock;
}
