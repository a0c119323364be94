import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import {
  type JournalIdentity,
  readJournalIdentity,
  writeIdentity,
} from "../../../../src/capture/journal/identity/journal_identity.ts";
import { UserError } from "../../../../src/core/fault.ts";
import { summedJson } from "../../../../src/core/json/summed_json.ts";
import { newerRemedy } from "../../../../src/core/version.ts";
import { cleanUp } from "../../../support/cleanup.ts";
import { makeFolder } from "../../../support/folder.ts";
import { identityOf } from "../../../support/journal.ts";

afterAll(cleanUp);

const identity = identityOf();

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

for (const [what, text] of Object.entries(wrongs)) {
  test(`an identity that is ${what} ends the start in one line, and is left as it is`, async () => {
    const folder = await newFolder();
    const file = `${folder}/identity.json`;
    writeFileSync(file, text);
    expect(() => readJournalIdentity(folder)).toThrow(UserError);
    expect(() => readJournalIdentity(folder)).toThrow(`${file} is damaged`);
    expect(readFileSync(file, "utf8")).toBe(text);
  });
}

test("no byte of an identity can change what number it gives", async () => {
  const folder = await newFolder();
  const whole = readFileSync(`${folder}/identity.json`);
  for (let at = 0; at < whole.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 1 << bit;
      writeFileSync(`${folder}/identity.json`, bytes);
      expect(() => readJournalIdentity(folder)).toThrow(UserError);
    }
  }
});

test("an identity that is not whole makes its file a damaged one", async () => {
  for (const wrong of [{ number: "2" }, { home: null }, { holder: 7 }, { postgres: "p".repeat(5000) }]) {
    const folder = makeFolder();
    await writeIdentity(folder, identityOf(wrong as Partial<JournalIdentity>));
    expect(() => readJournalIdentity(folder)).toThrow("it is no journal's identity");
  }
});

test("a journal that another version wrote is refused in one line that says what to do, and left as it is", async () => {
  const { number } = identity;
  for (const [text, line] of [
    [
      summedJson({ ...identity }),
      "FOLDER/identity.json is damaged (it is no journal's identity), so the journal's stores are unknown; check the disk and restore the file, or go on with these stores: mv FOLDER/identity.json FOLDER/identity.json.damaged",
    ],
    [summedJson({ format: 2, number }), `a newer version of this program wrote FOLDER: ${newerRemedy}`],
  ] as const) {
    const folder = makeFolder();
    writeFileSync(`${folder}/identity.json`, text);
    const said = line.replaceAll("FOLDER", () => folder);
    expect(() => readJournalIdentity(folder)).toThrow(new UserError(said));
    expect(readdirSync(folder)).toEqual(["identity.json"]);
    expect(readFileSync(`${folder}/identity.json`, "utf8")).toBe(text);
  }
});
