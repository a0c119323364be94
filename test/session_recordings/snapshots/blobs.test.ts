// Pieces in blobs, whose keys stay.

import { expect, test } from "bun:test";
import { groupBlobs } from "../../../src/session_recordings/snapshots/blobs.ts";

test("blobs never change their pieces when more come", () => {
  const chunk = (n: number, size: number) => ({
    uuid: String(n),
    first_at: "",
    last_at: "",
    size,
    events: 1,
    inflated: 0,
  });
  const chunks = [400_000, 600_000, 100_000, 5_000_000, 1, 2].map((size, n) => chunk(n, size));
  const keys = (count: number) =>
    groupBlobs(chunks.slice(0, count)).map((blob) => blob.pieces.map(({ uuid }) => uuid));
  expect(keys(6)).toEqual([["0", "1"], ["2"], ["3"], ["4", "5"]]);
  for (let count = 1; count < 6; count++) {
    const flat = keys(6).flatMap((uuids, key) => uuids.map((uuid) => [uuid, key]));
    expect(keys(count).flatMap((uuids, key) => uuids.map((uuid) => [uuid, key]))).toEqual(
      flat.slice(0, count),
    );
  }
});

test("a blob holds what can be inflated together", () => {
  const chunk = (n: number) => ({ uuid: String(n), first_at: "", last_at: "", size: 30_000, events: 2 });
  const chunks = [6e6, 6e6, 6e6, 20e6, 1].map((inflated, n) => ({ ...chunk(n), inflated }));
  expect(groupBlobs(chunks).map((blob) => blob.pieces.map(({ uuid }) => uuid))).toEqual([
    ["0", "1"],
    ["2"],
    ["3"],
    ["4"],
  ]);
});
