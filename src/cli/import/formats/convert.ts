// Records of one file into rows of a body: checks each, and applies the mapping of the file's dialect.

import { isUtf8 } from "node:buffer";
import { repair } from "../../../capture/decode/repair.ts";
import { isDictionary, jsonIn } from "../../../core/json/dictionary.ts";
import { JsonWalker } from "../../../core/json/json_walker.ts";
import { limits } from "../../../core/limits.ts";
import { toReason } from "../../../core/log.ts";
import { importLimits } from "../limits.ts";
import type { FileRecord } from "../reading/file_record.ts";
import { mapAmplitude } from "./amplitude.ts";
import type { FileKind } from "./detect.ts";
import { mapMixpanel } from "./mixpanel.ts";
import { mapBatchItem, mapPosthog } from "./posthog.ts";
import { type JsonRecord, type RecordOutcome, rejected } from "./record.ts";
import { mapSegment } from "./segment.ts";
import { mapCsvRow, readRow } from "./table.ts";
import type { TimeRules } from "./timestamp.ts";
import type { UuidSource } from "./uuid_source.ts";

const mappings = {
  batch: mapBatchItem,
  posthog: mapPosthog,
  mixpanel: mapMixpanel,
  amplitude: mapAmplitude,
  segment: mapSegment,
} as const;

/** The nesting a row may have; the body around it and the mappings add at most 8 levels. */
const depthMax = limits.jsonDepthMax - 8;

export class Converter implements JsonRecord {
  text = "";
  value: Record<string, unknown> = {};
  readonly #kind: FileKind;
  readonly #identity: UuidSource;
  readonly #rules: TimeRules;
  #record: FileRecord | undefined;
  #headerPassed = false;

  constructor(kind: FileKind, identity: UuidSource, rules: TimeRules) {
    this.#kind = kind;
    this.#identity = identity;
    this.#rules = rules;
  }

  /** The outcome of a record; undefined for the header of a CSV file. */
  convert(record: FileRecord): RecordOutcome | undefined {
    const { table } = this.#kind;
    if (table !== undefined && !this.#headerPassed) {
      this.#headerPassed = true;
      return undefined;
    }
    if (record.problem !== undefined) return rejected(record.problem);
    const text = record.source.toString("utf8", record.from, record.to);
    // Bytes that are not UTF-8 decode to U+FFFD, but a file may also contain this character. In JSON the server repairs
    // them.
    if (table && text.includes("\ufffd") && !isUtf8(record.source.subarray(record.from, record.to)))
      return rejected("not UTF-8");
    const outcome = table === undefined ? this.#map(record, text) : this.#mapCells(record, text);
    if (outcome.is === "rewritten" && outcome.text.length > importLimits.recordBytesMax) {
      return rejected(
        `becomes ${outcome.text.length} characters long; at most ${importLimits.recordBytesMax} can be sent`,
      );
    }
    const recordText = outcome.is === "rewritten" ? outcome.text : outcome.is === "verbatim" ? this.text : "";
    return isTooDeep(recordText) ? rejected(`nested deeper than ${depthMax}`) : outcome;
  }

  ownUuid(): string {
    const { source, from, to } = this.#record!;
    return this.#identity.ofRecord(source, from, to);
  }

  toUuid(text: string): string {
    return this.#identity.ofText(text);
  }

  get devices(): Map<string, string | null> {
    return this.#identity.devices;
  }

  #map(record: FileRecord, text: string): RecordOutcome {
    let value: unknown;
    let sound = text;
    try {
      value = JSON.parse(text);
    } catch (thrown) {
      sound = repairRecord(record) ?? "";
      value = jsonIn(sound);
      if (value === undefined)
        return rejected(`not JSON: ${toReason(thrown).replace("JSON Parse error: ", "").slice(0, 200)}`);
    }
    if (!isDictionary(value)) return rejected("not a JSON object");
    this.text = sound;
    this.value = value;
    this.#record = record;
    return mappings[this.#kind.dialect](this, this.#rules);
  }

  #mapCells(record: FileRecord, text: string): RecordOutcome {
    const { table, dialect } = this.#kind;
    const row = readRow(table!, text);
    if (typeof row === "string") return rejected(row);
    if (dialect === "posthog") {
      const cells = table!.names.map((name, i) => [name.toLowerCase(), row.fields[i]!] as const);
      return this.#map(record, JSON.stringify(Object.fromEntries(cells.filter(([, cell]) => cell !== ""))));
    }
    const ownUuid = (name: string): string => {
      const bytes = Buffer.from(name);
      return this.#identity.ofRecord(bytes, 0, bytes.length);
    };
    return mapCsvRow(table!, row, ownUuid, this.#rules);
  }
}

/** The record as /batch repairs it: NaN and infinities become null. undefined when there is nothing to repair. */
function repairRecord({ source, from, to }: FileRecord): string | undefined {
  const slices = repair(source.subarray(from, to), to - from, importLimits.recordBytesMax);
  let slice = slices.next();
  while (!slice.done) slice = slices.next();
  return slice.value && Buffer.from(slice.value.bytes).toString();
}

/** Whether the JSON nests too deep for the server. The brackets are counted first: few rows have enough of them. */
export function isTooDeep(text: string): boolean {
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0 && brackets <= depthMax; at = text.indexOf(bracket, at + 1))
      brackets++;
  }
  if (brackets <= depthMax) return false;
  try {
    new JsonWalker(Buffer.from(text), depthMax).skip(0);
    return false;
  } catch {
    return true;
  }
}
