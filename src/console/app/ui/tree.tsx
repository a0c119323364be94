// JSON as a tree that opens by keyboard: properties of events, persons and groups, whatever they are called.

interface TreeProps {
  name: string;
  value: unknown;
  /** Levels that are open at first. */
  open?: number;
}

/** Entries shown of one object or list; the text below says how many more there are. */
const shownMax = 200;

export function Tree({ name, value, open = 1 }: TreeProps) {
  if (typeof value !== "object" || value === null) {
    return (
      <div class="leaf">
        <span class="name">{name}</span> <Leaf value={value} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div class="leaf">
        <span class="name">{name}</span> <span class="quiet">{size}</span>
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

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span class="value text">{value === "" ? '""' : value}</span>;
  return <span class="value">{String(value)}</span>;
}
