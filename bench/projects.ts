// What does it cost when ten thousand projects send, instead of one? Bodies of 20 kB, each with the next key, and with
// three whole sessions of people who are in no other body: so one key and many keys have as many sessions and persons.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, type Scale } from "./answer.ts";
import { compareBodies, sluiceRun } from "./cost.ts";
import { writeBodies } from "./material.ts";
import { projectKey, type SluiceStand, withSluice } from "./stand.ts";

const bodyBytes = 20_000;
const projectsMax = 10_000;

export async function projectsBench(scale: Scale): Promise<Answer> {
  return await withSluice(async (sluice, folder) => {
    const count = Math.max(10, Math.min(projectsMax, Math.floor(scale.bytes / bodyBytes)));
    const keys = await createProjects(sluice, projectsMax);
    const plan = { count, bytes: bodyBytes, sessionsAtOnce: 3, distinctIds: 1_000_000 };
    const one = writeBodies(folder, { ...plan, keys: [projectKey] });
    const many = writeBodies(folder, { ...plan, keys });
    const connections = 16;
    const contestants = {
      "1 key": () => sluiceRun(sluice, one, { connections }),
      [`${count.toLocaleString("en")} of 10,000 keys`]: () => sluiceRun(sluice, many, { connections }),
    };
    const goal = { name: "CPU-s/GB of 10,000 keys ÷ 1", goal: 1.1, stretch: 1.03 };
    return await compareBodies(scale, "/batch by projects, 20 kB bodies", contestants, goal);
  });
}

/** Makes projects in one statement and waits until the server knows their keys. */
async function createProjects({ stores, dataDir }: SluiceStand, count: number): Promise<string[]> {
  const rows = await stores.sql<{ api_token: string }[]>`
    INSERT INTO projects (uuid, organization_id, name, api_token)
    SELECT gen_random_uuid(), (SELECT id FROM organizations LIMIT 1), 'Bench ' || n, 'phc_bench_of_many_' || n
    FROM generate_series(1, ${count}::integer) AS n
    RETURNING api_token`;
  const known = join(dataDir, "journal", "keys.json");
  while (!readFileSync(known, "utf8").includes(`"${rows.at(-1)!.api_token}"`)) await Bun.sleep(20);
  return rows.map(({ api_token }) => api_token);
}
