// Merges decided: which ids come under which, in order, and which may not. Pure: what is stored comes in, what
// changes goes out.

/** What asks for a merge; the numbers rest in the journal. A sighted type of groups travels with them. */
export const mergeKind = { none: 0, identify: 1, alias: 2, dangerous: 3, group_type: 4 } as const;

/** "from" is merged into "into", whose person id stays. */
export interface Merge {
  project_id: number;
  /** One of mergeKind: identify, alias or dangerous. */
  kind: number;
  from: string;
  into: string;
  /** Microseconds since 1970: the event's timestamp, and its arrival. */
  at: number;
  created_at: number;
}

/** An id that is merged already. */
export interface KnownId {
  project_id: number;
  distinct_id: string;
  main_id: string;
}

export interface Moved {
  project_id: number;
  /** A new id; or, in `moved`, a main id with all that is under it. */
  distinct_id: string;
  main_id: string;
  merged_at: number;
  created_at: number;
}

export interface MergePlan {
  /** Ids that were not merged before. */
  added: Moved[];
  /** Main ids that are none any more. */
  moved: Moved[];
  /** Merges that would join two identified persons. */
  refused: Merge[];
}

/** A person as far as these merges matter: its main id, and where it went. */
interface Node {
  project_id: number;
  id: string;
  stored: boolean;
  identified: boolean;
  parent: Node | undefined;
  /** Of the merge that made it what it is: under its parent, or a main id. */
  at: number;
  created_at: number;
}

/** Applies `merges` in order to what is known of their ids. */
export function planMerges(merges: readonly Merge[], known: readonly KnownId[]): MergePlan {
  const mains = new Map(known.map((one) => [keyOf(one.project_id, one.distinct_id), one.main_id]));
  const nodes = new Map<string, Node>();
  const nodeOf = (project_id: number, distinct_id: string): Node => {
    const main = mains.get(keyOf(project_id, distinct_id));
    const id = main ?? distinct_id;
    const key = keyOf(project_id, id);
    let node = nodes.get(key);
    if (!node) {
      const stored = main !== undefined;
      node = { project_id, id, stored, identified: stored, parent: undefined, at: 0, created_at: 0 };
      nodes.set(key, node);
    }
    return node;
  };
  const refused: Merge[] = [];
  for (const merge of merges) {
    const from = rootOf(nodeOf(merge.project_id, merge.from));
    const into = rootOf(nodeOf(merge.project_id, merge.into));
    if (from === into) continue;
    if (isRefused(merge, from, into)) refused.push(merge);
    else join(from, into, merge);
  }
  const changed = [...nodes.values()].filter((node) => node.parent || (node.identified && !node.stored));
  const added = changed.filter((node) => !node.stored).map(moveOf);
  const moved = changed.filter((node) => node.stored).map(moveOf);
  return { added, moved, refused };
}

/** An identified person is not merged into another by an ordinary call: shared devices would join strangers. */
function isRefused({ kind }: Merge, from: Node, into: Node): boolean {
  if (kind === mergeKind.dangerous || !from.identified) return false;
  return kind === mergeKind.identify || into.identified;
}

function join(from: Node, into: Node, { at, created_at }: Merge): void {
  from.parent = into;
  from.at = at;
  from.created_at = created_at;
  if (into.identified) return;
  into.identified = true;
  into.at = at;
  into.created_at = created_at;
}

/** The person it belongs to now; shortens the way there, keeping when it came under that person. */
function rootOf(node: Node): Node {
  let top = node;
  while (top.parent?.parent) top = top.parent;
  const root = top.parent;
  if (!root) return node;
  for (let one = node; one !== top;) {
    const next = one.parent!;
    one.parent = root;
    one.at = top.at;
    one.created_at = top.created_at;
    one = next;
  }
  return root;
}

function moveOf(node: Node): Moved {
  const main_id = rootOf(node).id;
  const { project_id, id: distinct_id, at: merged_at, created_at } = node;
  return { project_id, distinct_id, main_id, merged_at, created_at };
}

function keyOf(project_id: number, distinct_id: string): string {
  return `${project_id}:${distinct_id}`;
}
