// Decides merges in order: which id belongs to which main id, and which merges are refused. Pure: its input are stored
// rows, its output changes.

/** The calls that merge; the numbers are stored in the journal. A new group type travels in the same lane. */
export const mergeKind = { none: 0, identify: 1, alias: 2, dangerous: 3, group_type: 4 } as const;

/** `from` is merged into `into`, whose person id remains. */
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

export interface KnownId {
  project_id: number;
  distinct_id: string;
  main_id: string;
}

export interface AddedId {
  readonly project_id: number;
  readonly id: string;
}

export interface Moved extends KnownId {
  merged_at: number;
  created_at: number;
}

export interface Change extends Moved {
  /** True for a former main id, which moves with all ids under it; false for a new row. */
  stored: boolean;
}

/** An id of these merges; a root of the tree is a main id. */
interface Node extends AddedId {
  stored: boolean;
  identified: boolean;
  parent: Node | undefined;
  /** Time of the merge that put it under its parent or made it a main id. */
  at: number;
  created_at: number;
}

/**
 * Plans the merges of one transaction. Steps, each possible in slices: add() all merges, load() the stored rows of
 * their ids, decide() each merge in order, then findChange() each of `added`.
 */
export class MergePlan {
  /** Merges that would join two identified persons. */
  readonly refused: Merge[] = [];
  readonly #nodes = new Map<number, Map<string, Node>[]>();
  readonly #added: Node[] = [];

  add({ project_id, from, into }: Merge): void {
    this.#findNode(project_id, from);
    this.#findNode(project_id, into);
  }

  /** Every id of the merges once, then main ids from load(). */
  get added(): readonly AddedId[] {
    return this.#added;
  }

  /** Loads the stored row of an added id; an id that is not merged has none. */
  load({ project_id, distinct_id, main_id }: KnownId): void {
    const main = this.#findNode(project_id, main_id);
    main.stored = true;
    main.identified = true;
    // Maps the id to its main id; the node it had is dropped.
    this.#findMap(project_id, distinct_id).set(distinct_id, main);
  }

  /** Decides a merge, after all earlier ones. */
  decide(merge: Merge): void {
    const from = findRoot(this.#findNode(merge.project_id, merge.from));
    const into = findRoot(this.#findNode(merge.project_id, merge.into));
    if (from === into) return;
    if (isRefused(merge, from, into)) this.refused.push(merge);
    else join(from, into, merge);
  }

  /** The change to store for one of `added`, undefined for none. To be called after every merge is decided. */
  findChange({ project_id, id }: AddedId): Change | undefined {
    const node = this.#findNode(project_id, id);
    const isChanged = node.parent !== undefined || (node.identified && !node.stored);
    if (node.id !== id || !isChanged) return undefined;
    const main_id = findRoot(node).id;
    const { at: merged_at, created_at, stored } = node;
    return { project_id, distinct_id: id, main_id, merged_at, created_at, stored };
  }

  #findNode(project_id: number, id: string): Node {
    const ids = this.#findMap(project_id, id);
    let node = ids.get(id);
    if (!node) {
      node = { project_id, id, stored: false, identified: false, parent: undefined, at: 0, created_at: 0 };
      ids.set(id, node);
      this.#added.push(node);
    }
    return node;
  }

  /** Sixteen small maps: a single map of 200,000 ids would take 17 ms to grow once. */
  #findMap(project_id: number, id: string): Map<string, Node> {
    const maps = this.#nodes.getOrInsertComputed(project_id, newMaps);
    // charCodeAt is NaN for an empty id.
    return maps[(id.charCodeAt(id.length - 1) || 0) % mapsPerProject]!;
  }
}

/** Maps of one project, chosen by an id's last character, which varies most in numbers and UUIDs. */
const mapsPerProject = 16;
const newMaps = () => Array.from({ length: mapsPerProject }, () => new Map<string, Node>());

/** P-4: whether the call would join persons who may be strangers. */
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

/** The root of a node. Shortens the path, and keeps the time at which the id joined that root. */
function findRoot(node: Node): Node {
  let top = node;
  while (top.parent?.parent) top = top.parent;
  const root = top.parent;
  if (!root) return node;
  for (let item = node; item !== top;) {
    const next = item.parent!;
    item.parent = root;
    item.at = top.at;
    item.created_at = top.created_at;
    item = next;
  }
  return root;
}
