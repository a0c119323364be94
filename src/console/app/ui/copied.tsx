// A text with a button that copies it.

import { useState } from "preact/hooks";
import { Button } from "./parts.tsx";

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
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  throw new Error("no clipboard");
}
