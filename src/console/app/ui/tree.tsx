// JSON as a tree that opens by keyboard: properties of events, persons and groups, whatever they are called.

import { useState } from "preact/hooks";
import { Button } from "./parts.tsx";

/** The entries shown of one object or list; the text below shows how many more there are. */
const shownMax = 200;

/** @param open levels that are open at first. */
export function Tree({ name, value, open = 1 }: { name: string; value: unknown; open?: number }) {
  const isLeaf = typeof value !== "object" || value === null;
  const entries = isLeaf ? [] : Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div class="leaf">
        <span class="name">{name}</span>{" "}
        {isLeaf ? (
          <span class={typeof value === "string" ? "value text" : "value"}>
            {value === "" ? '""' : String(value)}
          </span>
        ) : (
          <span class="quiet">{size}</span>
        )}
      </div>
    );
  }
  return (
    <details class="tree" open={open > 0}>
      <summary>
        <span class="name">{name}</span> <span class="quiet">{size}</span>
      </summary>
      {entries.slice(0, shownMax).map(([key, inner]) => (
        <Tree key={key} name={key} value={inner} open={open - 1} />
      ))}
      {entries.length > shownMax && <p class="quiet">and {entries.length - shownMax} more</p>}
    </details>
  );
}

/** The properties shown before "more" is clicked. */
const firstMax = 15;

/** The properties that have a value: the first few, until "more" is clicked. */
export function Properties({ of }: { of: Readonly<Record<string, unknown>> }) {
  const [isAll, setAll] = useState(false);
  const entries = Object.entries(of).filter(([, value]) => value !== null);
  if (entries.length === 0) return <p class="quiet">No properties.</p>;
  // The project's own properties come first; those that libraries add begin with a dollar sign.
  const isOwn = ([name]: [string, unknown]) => !name.startsWith("$");
  const sorted = [...entries.filter(isOwn), ...entries.filter((entry) => !isOwn(entry))];
  const visible = isAll ? sorted : sorted.slice(0, firstMax);
  return (
    <>
      {visible.slice(0, shownMax).map(([name, value]) => (
        <Tree key={name} name={name} value={value} open={0} />
      ))}
      {isAll && sorted.length > shownMax && <p class="quiet">and {sorted.length - shownMax} more</p>}
      {sorted.length > firstMax && (
        <Button aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? "Fewer properties" : `${sorted.length - firstMax} more properties`}
        </Button>
      )}
    </>
  );
}
