import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { harmlessParameters } from "../../../src/http/fields/harmless.ts";
import {
  choiceParameter,
  flagParameter,
  parameter,
  type Query,
  readQuery,
  referenceParameter,
  refreshParameter,
  searchParameter,
  textParameter,
} from "../../../src/http/fields/query.ts";

const declared = {
  name: textParameter("Called so."),
  search: searchParameter("Containing this."),
  kind: choiceParameter("Of this kind.", ["a", "b"]),
  deleted: flagParameter("The deleted ones."),
  board: referenceParameter("On it."),
  refresh: refreshParameter("Computed."),
  level: { ...parameter("Several.", (query, name) => query.getAll(name)), repeats: true },
};

const codeAndField = (text: string) => (read(text) as string[]).slice(0, 2);

/** What is read, or what the refusal says: its code, field and sentence. */
function read(text: string, parameters: Query = declared): unknown {
  try {
    const values = Object.entries(readQuery(parameters, new URLSearchParams(text)));
    return Object.fromEntries(values.filter(([, value]) => value !== undefined && String(value) !== ""));
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return [thrown.code, thrown.attr, thrown.detail];
  }
}

test("a parameter that is not declared is refused by name, and those there are are listed", () => {
  const detail = '"email" is not a parameter of this operation. There are: name, kind.';
  const { name, kind } = declared;
  expect(read("name=x&email=y", { name, kind })).toEqual(["invalid_input", "email", detail]);
  const none = '"email" is not a parameter of this operation. It has none.';
  expect(read("email=y", {})).toEqual(["invalid_input", "email", none]);
  for (const odd of ["", "Name", "name ", "name[]", "__proto__", "constructor"]) {
    expect(codeAndField(new URLSearchParams({ [odd]: "x" }).toString())).toEqual(["invalid_input", odd]);
  }
});

test("a long name is cut where it is shown", () => {
  const [, attr, detail] = read(`${"n".repeat(5000)}=1`) as string[];
  expect(attr).toHaveLength(201);
  expect(detail!.length).toBeLessThan(400);
});

test("a parameter given twice is refused, unless it may be", () => {
  const once = "This parameter can only be given once.";
  for (const text of ["name=x&name=y", "name=x&name=x", "deleted=true&deleted=", "format=json&format=json"]) {
    expect(read(text)).toEqual(["invalid_input", text.split("=")[0], once]);
  }
  expect(read("level=a&level=b")).toEqual({ level: ["a", "b"] });
});

test("harmless parameters pass, each with its reason; format only where it says JSON", () => {
  for (const [name, { reason, only }] of harmlessParameters) {
    expect(read(`${name}=${only ?? "anything"}`, {})).toEqual({});
    expect(reason).toMatch(/^[A-Z].+\.$/);
  }
  const csv = ["invalid_choice", "format", '"csv" is not a valid choice.'];
  expect(read("format=csv", {})).toEqual(csv);
  expect(codeAndField("format=")).toEqual(["invalid_choice", "format"]);
  const format = choiceParameter("How it is written.", ["json", "csv"]);
  expect(read("format=csv", { format })).toEqual({ format: "csv" });
});

test("a flag is true or false in a body's spellings, and nothing else", () => {
  for (const text of ["true", "True", "1", "yes"]) expect(read(`deleted=${text}`)).toEqual({ deleted: true });
  for (const text of ["false", "False", "0", "no"])
    expect(read(`deleted=${text}`)).toEqual({ deleted: false });
  const wrong = ["invalid_input", "deleted", "Must be a valid boolean."];
  for (const text of ["", "tru", "2", "null"]) expect(read(`deleted=${text}`)).toEqual(wrong);
});

test("an empty text is refused where something is compared with it, and found in every text", () => {
  expect(read("name=")).toEqual(["blank", "name", "This field may not be blank."]);
  expect(read("search=")).toEqual({});
  expect(read("search=+a+")).toEqual({ search: "a" });
});

test("choices, modes and numbers are refused when they are none", () => {
  expect(read("kind=a&board=7&refresh=force_cache")).toEqual({ kind: "a", board: 7, refresh: false });
  expect(read("refresh=True")).toEqual({ refresh: true });
  expect(codeAndField("kind=")).toEqual(["invalid_choice", "kind"]);
  expect(codeAndField("refresh=now")).toEqual(["invalid_choice", "refresh"]);
  for (const text of ["", "x", "1.5", "1e3"])
    expect(codeAndField(`board=${text}`)).toEqual(["invalid_input", "board"]);
  expect(codeAndField("board=-1")).toEqual(["min_value", "board"]);
  for (const name of ["name", "search"])
    expect(codeAndField(`${name}=%00`)).toEqual(["null_characters_not_allowed", name]);
});
