import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import {
  type JournalIdentity,
  readJournalIdentity,
  repairIdentity,
  writeIdentity,
} from "../../../../src/capture/journal/identity/journal_identity.ts";
import { UserError } from "../../../../src/core/fault.ts";
import { summedJson } from "../../../../src/core/json/summed_json.ts";
import { openLog } from "../../../../src/core/log.ts";
import { unreleasedRemedy } from "../../../../src/core/version.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import { identityOf } from "../../../support/journal.ts";

afterAll(cleanUp);

const identity = identityOf();
let lines: string[] = [];
beforeEach(() => void (lines = []));
const log = openLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });

async function newFolder(): Promise<string> {
  const folder = makeFolder();
  await writeIdentity(folder, identity);
  return folder;
}

const wrongs: Record<string, string> = {
  empty: "",
  torn: '{"name":"0190f1f2-0000-70',
  "of zeros": "\0".repeat(80),
  foreign: '{"version": 3}',
  "a list": "[1, 2]",
  "without a number": '{"name":"a","number":"12"}',
  "of another number": JSON.stringify({ ...identity, number: 13, sum: "00000000" }),
};

for (const file of ["identity.json", "identity.copy.json"]) {
  for (const [what, text] of Object.entries(wrongs)) {
    test(`${file} that is ${what} is named and set aside, and written again from the other`, async () => {
      const folder = await newFolder();
      const whole = readFileSync(`${folder}/${file}`, "utf8");
      writeFileSync(`${folder}/${file}`, text);
      expect(readJournalIdentity(folder)).toEqual(identity);
      expect(await repairIdentity(folder, log)).toEqual(identity);
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: "error", file: `${folder}/${file}` });
      expect(readFileSync(`${folder}/${file}.damaged`, "utf8")).toBe(text);
      expect(readFileSync(`${folder}/${file}`, "utf8")).toBe(whole);
      expect(await repairIdentity(folder, log)).toEqual(identity);
      expect(lines).toHaveLength(1);
    });
  }
}

test("no byte of an identity can change what number it gives", async () => {
  const folder = await newFolder();
  const whole = readFileSync(`${folder}/identity.json`);
  for (let at = 0; at < whole.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 1 << bit;
      writeFileSync(`${folder}/identity.json`, bytes);
      expect(readJournalIdentity(folder)).toEqual(identity);
    }
  }
});

test("when neither can be read there is none, and both are kept", async () => {
  const folder = await newFolder();
  for (const file of ["identity.json", "identity.copy.json"]) writeFileSync(`${folder}/${file}`, "{");
  expect(readJournalIdentity(folder)).toBeUndefined();
  expect(await repairIdentity(folder, log)).toBeUndefined();
  expect(readdirSync(folder).toSorted()).toEqual(["identity.copy.json.damaged", "identity.json.damaged"]);
});

test("files of two journals end the start with both names", async () => {
  const folder = await newFolder();
  const other = `${folder}/other`;
  mkdirSync(other);
  await writeIdentity(other, { ...identity, number: 13 });
  writeFileSync(`${folder}/identity.json`, readFileSync(`${other}/identity.json`));
  await expect(repairIdentity(folder, log)).rejects.toThrow(
    `${folder}/identity.json and ${folder}/identity.copy`,
  );
});

test("a journal that was renewed in a process that died between its two files is the newer one", async () => {
  const folder = await newFolder();
  const older = readFileSync(`${folder}/identity.copy.json`);
  const name = "0190f1f2-0000-7000-8000-000000000002";
  const renewed = identityOf({ name, number: 13, life: 2, renamed: identity.name });
  await writeIdentity(folder, renewed);
  for (const file of ["identity.json", "identity.copy.json"]) {
    writeFileSync(`${folder}/${file}`, older);
    expect(await repairIdentity(folder, log)).toEqual(renewed);
    expect(await repairIdentity(folder, log)).toEqual(renewed);
    expect(readFileSync(`${folder}/${file}`)).not.toEqual(older);
  }
  expect(lines).toEqual([]);
});

test("an identity that is not whole makes its file a damaged one", async () => {
  for (const wrong of [{ life: "2" }, { home: null }, { holder: 7 }, { postgres: "p".repeat(5000) }]) {
    const folder = makeFolder();
    await writeIdentity(folder, identityOf(wrong as Partial<JournalIdentity>));
    expect(readJournalIdentity(folder)).toBeUndefined();
  }
});

test("a journal that another version wrote is refused in one line that says what to do, and left as it is", async () => {
  const { name, number } = identity;
  const unreleased = `an unreleased version of this program wrote FOLDER: ${unreleasedRemedy}`;
  for (const [text, line] of [
    [JSON.stringify({ name, number }), unreleased],
    [summedJson({ ...identity }), unreleased],
    [summedJson({ format: 2, number }), "a newer version of this program wrote FOLDER: run that one"],
  ] as const) {
    const folder = makeFolder();
    for (const file of ["identity.json", "identity.copy.json"]) writeFileSync(`${folder}/${file}`, text);
    const said = line.replace("FOLDER", () => folder);
    expect(() => readJournalIdentity(folder)).toThrow(new UserError(said));
    await expect(repairIdentity(folder, log)).rejects.toThrow(new UserError(said));
    expect(readdirSync(folder).toSorted()).toEqual(["identity.copy.json", "identity.json"]);
    expect(readFileSync(`${folder}/identity.json`, "utf8")).toBe(text);
  }
  expect(lines).toEqual([]);
});
