// Texts and a table's rows to be copied or saved as a file.

import { useState } from "preact/hooks";
import { type TableData, toCsv, toTsv } from "./csv.ts";
import { Button } from "./parts.tsx";

/** A table's rows as a file, and as a text to paste into a spreadsheet. */
export function DataButtons({ name, columns, rows }: TableData) {
  const [copied, setCopied] = useState("");
  const save = () => {
    const url = URL.createObjectURL(new Blob([toCsv(columns, rows)], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href: url, download: `${name}.csv` }).click();
    URL.revokeObjectURL(url);
  };
  const copy = () => {
    copyText(toTsv(columns, rows)).then(
      () => setCopied("Copied."),
      () => setCopied("Browsers only copy on https and localhost; the file has the same rows."),
    );
  };
  return (
    <p class="page-actions">
      <Button onClick={save}>CSV</Button>
      <Button onClick={copy}>Copy table</Button>
      <span class="quiet" role="status">
        {copied}
      </span>
    </p>
  );
}

export function Copied({ text, label, block }: { text: string; label: string; block?: boolean }) {
  const [state, setState] = useState("");
  const copy = () => {
    copyText(text).then(
      () => setState("Copied"),
      () => setState("Select it and press Ctrl+C"),
    );
  };
  return (
    <div class={block ? "copied block" : "copied"}>
      {block ? (
        <pre tabIndex={0} role="group" aria-label={label}>
          <code>{text}</code>
        </pre>
      ) : (
        <code>{text}</code>
      )}
      <Button onClick={copy} aria-label={`Copy ${label}`}>
        {state === "Copied" ? "Copied" : "Copy"}
      </Button>
      <span class="visually-hidden" role="status">
        {state}
      </span>
    </div>
  );
}

/** Browsers have a clipboard only on https and localhost. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  throw new Error("no clipboard");
}
