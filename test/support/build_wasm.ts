// Builds the WebAssembly of src/capture/wasm: `bun run build:wasm` writes the modules anew.

import { cpSync } from "node:fs";
import { resolve } from "node:path";
import { changeKind } from "../../src/capture/fields/changes.ts";
import {
  columnsAt,
  entryLength,
  envelope,
  field,
  firstColumn,
  firstIdentity,
  firstTrait,
  grade,
  keySlot,
  noSlot,
  trait,
  traitColumns,
  valueKind,
} from "../../src/capture/fields/event_fields.ts";
import { personMode } from "../../src/capture/fields/row.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { timestampMicrosMin } from "../../src/capture/scan/timestamp.ts";
import { named, traitsUnusual } from "../../src/capture/wasm/fast_path_rules.ts";
import {
  firstYear,
  groupTypeBytes,
  groupTypeLengthMax,
  keyLengthMax,
  keysMax,
  layout,
  learnedBytes,
  learnedLengthMax,
  learnedMax,
  nameBytes,
  repeatKeysMax,
  shapeUnknown,
  singleKey,
  singleNumbers,
  sliceChangesMax,
  unrepeatedMax,
  yearsKnown,
} from "../../src/capture/wasm/layout.ts";
import {
  foldColumns,
  foldedNames,
  foldEventsMax,
  foldLayout,
  foldProbesMax,
  foldRowBytes,
  foldRowsMax,
  foldSlotsMax,
  foldStraysMax,
  foldTextsBytes,
  foldUnreadMax,
  foldUnreadNumbers,
  lcpSlot,
} from "../../src/capture/wasm/session_layout.ts";
import { limits } from "../../src/core/limits.ts";
import { propertyColumns } from "../../src/storage/events/event_columns.ts";
import { sessionBytesMax, sessionMicros, sessionNames } from "../../src/storage/events/sessions.ts";
import { cleanUp } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";

const folder = resolve(import.meta.dir, "../../src/capture/wasm");
const compiler = resolve(import.meta.dir, "../../node_modules/assemblyscript/bin/asc.js");
/** The modules by name: where each begins in assembly/. */
export const modules = { fast: "index.ts", sessions: "sessions.ts" } as const;
export type ModuleName = keyof typeof modules;
export const modulePath = (name: ModuleName): string => `${folder}/${name}.wasm`;

function lines(type: string, values: Record<string, number | bigint>, prefix = ""): string[] {
  return Object.entries(values).map(
    ([name, value]) =>
      `@lazy export const ${prefix}${name.replace("$", "").toUpperCase()}: ${type} = ${value};`,
  );
}

/** The names in capitals that assembly/ has without an import: places of fields, the layout of memory and bounds. */
function constantsText(): string {
  const own = {
    ENTRY_BYTES: entryLength * 4,
    COLUMNS_AT: columnsAt,
    PROPERTY_COLUMNS: propertyColumns.length,
    TRAIT_COLUMNS: traitColumns,
    KEY_LENGTH_MAX: keyLengthMax,
    NAME_BYTES: nameBytes,
    UNREPEATED_MAX: unrepeatedMax,
    REPEAT_KEYS_MAX: repeatKeysMax,
    REPEAT_SLOTS: repeatKeysMax * 2,
    LEARNED_MAX: learnedMax,
    LEARNED_LENGTH_MAX: learnedLengthMax,
    LEARNED_BYTES: learnedBytes,
    DEPTH_MAX: limits.jsonDepthMax,
    EVENT_BYTES_MAX: limits.eventBytesMax,
    DISTINCT_ID_MAX: captureLimits.distinctIdCharsMax,
    ROWS_MAX: captureLimits.sliceRowsMax,
    NAMES_MAX: 250,
    NAME_SLOTS: 1024,
    YEARS_MAX: 250,
    FIRST_YEAR: firstYear,
    YEAR_TABLE_LENGTH: yearsKnown,
    TRAITS_UNUSUAL: traitsUnusual,
    SINGLE_KEY: singleKey,
    SINGLE_BYTES: singleNumbers * 4,
    KEYS_MAX: keysMax,
    KEY_SLOTS: keysMax * 2,
    KEY_BYTES_MAX: captureLimits.changeKeyBytesMax,
    CHANGES_MAX: captureLimits.changesMax,
    CHANGES_BYTES_MAX: captureLimits.changesBytesMax,
    SLICE_CHANGES_MAX: sliceChangesMax,
    RANK_DIGITS_MAX: captureLimits.rankDigitsMax,
    GROUP_TYPE_BYTES: groupTypeBytes,
    GROUP_TYPE_LENGTH_MAX: groupTypeLengthMax,
    GROUP_KEY_CHARS_MAX: limits.groupKeyCharsMax,
    GROUP_KEY_BYTES_MAX: limits.groupKeyCharsMax * 4,
    GROUP_MEMBERS_MAX: captureLimits.groupMembersMax,
  };
  const fold = {
    NAMES: foldedNames.length,
    LCP: lcpSlot,
    ADS: sessionNames.length,
    SESSION_BYTES_MAX: sessionBytesMax,
    ROWS_MAX: foldRowsMax,
    ROW_BYTES: foldRowBytes,
    EVENTS_MAX: foldEventsMax,
    TEXTS_BYTES: foldTextsBytes,
    UNREAD_MAX: foldUnreadMax,
    STRAYS_MAX: foldStraysMax,
    UNREAD_BYTES: foldUnreadNumbers * 4,
    SLOTS_MAX: foldSlotsMax,
    PROBES_MAX: foldProbesMax,
    COLUMNS: foldColumns,
  };
  return [
    // Where the index of events lies: given by whoever makes an instance.
    '@external("constants", "ENTRIES")',
    "export declare const ENTRIES: u32;",
    ...lines("u32", layout),
    ...lines("u32", own),
    ...lines("u32", foldLayout, "FOLD_"),
    ...lines("u32", fold, "FOLD_"),
    ...lines("i64", sessionMicros, "SESSION_"),
    ...lines("u32", grade, "GRADE_"),
    ...lines("u32", changeKind, "OP_"),
    ...lines("u32", personMode, "MODE_"),
    ...lines("u32", trait, "TRAIT_"),
    ...lines("u8", valueKind, "KIND_"),
    ...lines("i32", field, "FIELD_"),
    ...lines("i32", named, "NAMED_"),
    ...lines("i32", {
      NO_SLOT: noSlot,
      KEY_SLOT: keySlot,
      ENVELOPE_BATCH: envelope.batch,
      FIRST_TRAIT: firstTrait,
      FIRST_COLUMN: firstColumn,
      FIRST_IDENTITY: firstIdentity,
    }),
    ...lines("u64", { SHAPE_UNKNOWN: shapeUnknown }),
    ...lines("i64", { EARLIEST: timestampMicrosMin }),
    "",
  ].join("\n");
}

/** Compiles a module as asconfig.json says, in a folder that cleanUp() removes. */
export async function compileModule(name: ModuleName): Promise<Uint8Array> {
  const cwd = makeFolder();
  cpSync(folder, cwd, { recursive: true });
  await Bun.write(`${cwd}/constants/constants.ts`, constantsText());
  const outFile = `${cwd}/${name}.wasm`;
  const from = `assembly/${modules[name]}`;
  const options = ["--config", "asconfig.json", "--lib", "constants", "--outFile", outFile];
  const child = Bun.spawn([process.execPath, compiler, from, ...options], {
    cwd,
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`the module was not built: ${said}`);
  return await Bun.file(outFile).bytes();
}

if (import.meta.main) {
  for (const name of Object.keys(modules) as ModuleName[]) {
    const bytes = await Bun.write(modulePath(name), await compileModule(name));
    process.stdout.write(`${modulePath(name)}: ${bytes} bytes\n`);
  }
  await cleanUp();
}
