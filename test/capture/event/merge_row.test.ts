import { expect, test } from "bun:test";
import { MergeBlock, type MergeRow, readMergeRows } from "../../../src/capture/event/merge_row.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { limits } from "../../../src/core/limits.ts";
import type { AnnouncedType } from "../../../src/persons/group_type_store.ts";
import { mergeKind } from "../../../src/persons/merge.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { countTurns } from "../../support/turns.ts";

function frame(rows: readonly MergeRow[]): Uint8Array {
  const block = new MergeBlock();
  for (const row of rows) block.append(row);
  const out = new ByteColumn();
  block.encode(out);
  return out.filled();
}

function rowAt(i: number): MergeRow {
  const at = 1_700_000_000_000_000 + i;
  const kind = i % 10_000 === 0 ? mergeKind.group_type : mergeKind.identify;
  return {
    project_id: 1 + (i % 3),
    kind,
    from: `анон ${i}`,
    into: `"u"\\${i}`,
    at,
    created_at: at + 1,
    timestamp: at,
  };
}

test("a long segment's rows come in order, lot by lot, while others have their turn", async () => {
  const rows = Array.from({ length: 2 * flushLimits.mergesDecidedMax + 5000 }, (_, i) => rowAt(i));
  const types: AnnouncedType[] = [];
  const lots: unknown[][] = [];
  const turns = await countTurns(async () => {
    const payloads = [frame(rows.slice(0, 12_345)), frame(rows.slice(12_345))];
    for await (const some of readMergeRows(payloads, types, flushLimits.mergesDecidedMax)) lots.push(some);
  });
  const merges = rows.filter(({ kind }) => kind !== mergeKind.group_type);
  expect(lots.map((some) => some.length)).toEqual([
    flushLimits.mergesDecidedMax,
    flushLimits.mergesDecidedMax,
    merges.length - 2 * flushLimits.mergesDecidedMax,
  ]);
  expect(lots.flat()).toMatchObject(
    merges.map(({ project_id, kind, from, into, at, created_at }) => ({
      project_id,
      kind,
      from,
      into,
      at,
      created_at,
    })),
  );
  expect(types).toEqual(
    rows.flatMap(({ kind, project_id, into }) =>
      kind === mergeKind.group_type ? [{ project_id, name: into }] : [],
    ),
  );
  expect(turns).toBeGreaterThanOrEqual(Math.floor(rows.length / limits.mergesAtOnceMax));
});
