// Formats and compressions of files that go together.

import { shown } from "../../../http/fields/field_fault.ts";
import type { Settings } from "../fields.ts";
import { wrong, wrongValue } from "../setting_fault.ts";
import { type FileFormat, fileFormats } from "./object_key.ts";

/** @throws Fault */
export function checkFileChoice(settings: Settings): void {
  const asked = settings["file_format"] ?? "JSONLines";
  const formats = Object.keys(fileFormats) as FileFormat[];
  const format = formats.find((one) => one === asked);
  if (!format) {
    const detail = `File format ${shown(asked)} is not supported. Supported file formats are ${listed(formats)}`;
    throw wrong(detail, "destination");
  }
  if (settings["escape_formulas"] === true && format !== "CSV") {
    throw wrongValue("escape_formulas", "only CSV has cells");
  }
  const compression = settings["compression"] ?? null;
  const { compressions } = fileFormats[format];
  if (compression === null || compressions.some((one) => one === compression)) return;
  const detail =
    `Compression ${shown(compression)} is not supported for file format ${format}. ` +
    `Supported compressions are ${listed(compressions)}`;
  throw wrong(detail, "destination");
}

function listed(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(", ")}]`;
}
