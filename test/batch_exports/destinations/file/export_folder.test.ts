// Exports into folders: each project's own, through no link, for their owner alone; and cells that are no formulas.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openExportFolder } from "../../../../src/batch_exports/destinations/file/export_folder.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { type ExportProcess, openExportProcess } from "../../../support/export_process.ts";
import { makeFolder } from "../../../support/folder.ts";
import { storesStartMsMax } from "../../../support/stores.ts";

afterAll(cleanUp);

let exports: ExportProcess;
const root = makeFolder();

beforeAll(async () => {
  exports = await openExportProcess();
  exports.open({ exportFileDir: root });
}, storesStartMsMax);

const toFile = (config: object) => ({ type: "File", config: { ...config } });

function filesBelow(path: string): string[] {
  return readdirSync(join(root, path)).toSorted();
}

const modeOf = (path: string): string => (statSync(join(root, path)).mode & 0o777).toString(8);

test("files and folders are for their owner alone, whole or split", async () => {
  expect((await exports.exported(toFile({ path: "own/a", prefix: "{year}/x" }))).latest_error).toBeNull();
  const [name, ...others] = filesBelow("own/a/2030/x");
  expect(others).toEqual([]);
  expect(["own", "own/a", "own/a/2030", "own/a/2030/x"].map(modeOf)).toEqual(["700", "700", "700", "700"]);
  expect(modeOf(`own/a/2030/x/${name}`)).toBe("600");
  expect((await exports.exported(toFile({ path: "own/s", max_file_size_mb: 1 }))).latest_error).toBeNull();
  for (const file of filesBelow("own/s")) expect(modeOf(`own/s/${file}`)).toBe("600");
  expect(filesBelow("own/s").length).toBe(2);
});

test("a file is written over by a retry, and nothing unfinished stays", async () => {
  for (let round = 0; round < 2; round++) {
    expect((await exports.exported(toFile({ path: "again" }))).records_completed).toBe(3);
    const [name, ...others] = filesBelow("again");
    expect(others).toEqual([]);
    expect(
      readFileSync(join(root, "again", name!), "utf8")
        .trimEnd()
        .split("\n").length,
    ).toBe(3);
  }
});

test("no folder is made behind a link, whether the path or the prefix names it", async () => {
  const outside = makeFolder();
  symlinkSync(outside, join(root, "link"));
  mkdirSync(join(root, "real"));
  symlinkSync(outside, join(root, "real", "link"));
  const byPath = await exports.exported(toFile({ path: "link/made/here" }));
  expect([byPath.status, byPath.latest_error]).toEqual(["Failed", "The path leaves EXPORT_FILE_DIR"]);
  const byPrefix = await exports.exported(toFile({ path: "real", prefix: "link/made/here" }));
  expect([byPrefix.status, byPrefix.latest_error]).toEqual([
    "Failed",
    "The prefix leaves the destination's folder",
  ]);
  expect(readdirSync(outside)).toEqual([]);
});

test("a file that has its name already is replaced, a link is not followed", async () => {
  const outside = makeFolder();
  writeFileSync(join(outside, "victim"), "untouched");
  expect((await exports.exported(toFile({ path: "target" }))).latest_error).toBeNull();
  const [name] = filesBelow("target");
  renameSync(join(root, "target", name!), join(root, "kept"));
  symlinkSync(join(outside, "victim"), join(root, "target", name!));
  expect((await exports.exported(toFile({ path: "target" }))).latest_error).toBeNull();
  expect(readFileSync(join(outside, "victim"), "utf8")).toBe("untouched");
  expect(readFileSync(join(root, "target", name!), "utf8")).toContain('"uuid"');
});

test("a file is where it was made, or has no name", () => {
  const outside = makeFolder();
  const folder = openExportFolder(root, "moved");
  folder.create("a.part");
  expect(() => folder.rename("a.part", "a")).toThrow("moved while it was written");
  folder.create("b.part");
  writeFileSync(join(root, "moved", "b.part"), "rows");
  // The folder that was opened stays the one that is written to, whatever has its name by then.
  renameSync(join(root, "moved"), join(root, "elsewhere"));
  symlinkSync(outside, join(root, "moved"));
  folder.rename("b.part", "b");
  folder.close();
  expect(readFileSync(join(root, "elsewhere", "b"), "utf8")).toBe("rows");
  expect(readdirSync(outside)).toEqual([]);
  expect(() => openExportFolder(root, "moved/below")).toThrow("The path leaves EXPORT_FILE_DIR");
  expect(existsSync(join(outside, "below"))).toBeFalse();
});

test("cells that spreadsheets take for formulas begin with an apostrophe where that is requested", async () => {
  const starts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "plain", "a=1", ""];
  const values = starts
    .map((start) => `'${start.replaceAll("\t", "\\t").replaceAll("\r", "\\r")}'`)
    .join(", ");
  const properties = `toJSONString(map('cell', [${values}][number + 1]))`;
  await exports.arrive(starts.length, properties);
  const native_query = "SELECT uuid, properties.cell AS cell FROM events WHERE properties.cell IS NOT NULL";
  const csv = { file_format: "CSV", path: "csv" };
  for (const [escape_formulas, before] of [
    [true, "'"],
    [false, ""],
  ] as const) {
    const run = await exports.exported({ ...toFile({ ...csv, escape_formulas }), native_query });
    expect(run.latest_error).toBeNull();
    const text = readFileSync(join(root, "csv", filesBelow("csv")[0]!), "utf8");
    for (const start of starts.slice(0, 7)) expect(text).toContain(`,"${before}${start}"\n`);
    expect(text).toContain(',"plain"\n');
    expect(text).toContain(',"a=1"\n');
  }
});
