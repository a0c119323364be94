// Where a File export writes, as one text: two with the same text would write the same names. Never looks at a disk.

import type { Settings } from "./destination_config.ts";

/** Of a checked configuration. Spellings of one folder are one text, and `{table}` is what it stands for. */
export function filePlace({ path, prefix }: Settings, model: string): string {
  return [path, prefix]
    .map((part) => String(part ?? ""))
    .join("/")
    .replaceAll("{table}", model)
    .split("/")
    .filter((step) => step !== "")
    .join("/");
}
