import { afterAll, expect, test } from "bun:test";
import { openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { openClusterClient } from "../../../src/storage/cluster/cluster_client.ts";
import { checkReplicas, findReplicaProblem } from "../../../src/storage/cluster/cluster_health.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { clusterName, ownShard, startClusterFront } from "../../support/cluster.ts";

afterAll(cleanUp);

/** Two shards with two replicas each. */
const replicas = [1, 2].flatMap((shard_num) => [1, 2].map((replica_num) => ({ shard_num, replica_num })));
const well = (...places: number[]) => places.map((place) => ({ place, readonly: 0 }));

test("nothing is logged while all replicas answer", () => {
  expect(findReplicaProblem(replicas, well(1, 2, 3, 4))).toBeUndefined();
});

test("replicas that are away, or take no INSERT, are named", () => {
  expect(findReplicaProblem(replicas, well(1, 2, 4))).toBe("SHARD_2_REPLICA_1_AWAY");
  expect(findReplicaProblem(replicas, [...well(1, 3, 4), { place: 2, readonly: 3 }])).toBe(
    "SHARD_1_REPLICA_2_READONLY",
  );
  const many = Array.from({ length: 16 }, (_, i) => ({ shard_num: 1 + (i >> 1), replica_num: 1 + (i & 1) }));
  expect(findReplicaProblem(many, well(1, 3, 5, 7, 9, 11, 13, 15))).toEndWith(
    "SHARD_5_REPLICA_2_AWAY AND 3 MORE",
  );
});

test("a shard without any replica is an error with its number", () => {
  const codeOf = (answers: ReturnType<typeof well>): unknown => {
    try {
      return findReplicaProblem(replicas, answers);
    } catch (thrown) {
      return (thrown as { code?: string }).code;
    }
  };
  expect(codeOf(well(1, 2))).toBe("SHARD_2_AWAY");
  expect(codeOf([...well(1, 2, 4).slice(0, 2), { place: 3, readonly: 1 }, { place: 4, readonly: 1 }])).toBe(
    "SHARD_2_READONLY",
  );
});

test("all replicas of the engine are checked, and one that cannot be reached is unavailable", async () => {
  const client = async (shards: string) => {
    const clickhouse = openClickHouse((await startClusterFront({ shards })).url);
    await clickhouse.createDatabase();
    return openClusterClient(clickhouse, { name: clusterName, database: clickhouse.database });
  };
  const alone = await client(ownShard);
  expect(await checkReplicas(alone, alone.cluster!)).toBeUndefined();
  // Nothing listens on the port of discard.
  const lost = ownShard.replace(
    "</shard>",
    "<replica><host>127.0.0.1</host><port>9</port></replica></shard>",
  );
  const two = await client(lost);
  expect(await checkReplicas(two, two.cluster!)).toBe("SHARD_1_REPLICA_2_AWAY");
  const gone = await client(ownShard + ownShard.replace("<port>9000</port>", "<port>9</port>"));
  await expect(checkReplicas(gone, gone.cluster!)).rejects.toThrow("SHARD_2_AWAY");
});
