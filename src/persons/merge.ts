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

export interface SightedId {
  readonly project_id: number;
  readonly id: string;
}

export interface Moved {
  project_id: number;
  distinct_id: string;
  main_id: string;
  merged_at: number;
  created_at: number;
}

export interface Change extends Moved {
  /** True when it is a main id that is none any more: it goes with all that is under it. Otherwise it is new. */
  stored: boolean;
}

/** A person as far as these merges matter: its main id, and where it went. */
interface Node extends SightedId {
  stored: boolean;
  identified: boolean;
  parent: Node | undefined;
  /** Of the merge that made it what it is: under its parent, or a main id. */
  at: number;
  created_at: number;
}

/**
 * Merges of one transaction on their way to a decision, in steps that may be taken slice by slice: all are sighted,
 * then what is stored of their ids is learnt, then each is decided in order, then what changes is told.
 */
export class MergePlan {
  /** Merges that would join two identified persons. */
  readonly refused: Merge[] = [];
  readonly #nodes = new Map<number, Map<string, Node>[]>();
  readonly #sighted: Node[] = [];

  /** Notes whose ids matter. */
  sight({ project_id, from, into }: Merge): void {
    this.#nodeOf(project_id, from);
    this.#nodeOf(project_id, into);
  }

  /** Every id of the merges sighted, once; behind them main ids that were learnt of. */
  get sighted(): readonly SightedId[] {
    return this.#sighted;
  }

  /** Takes what is stored of a sighted id: of those that are not merged yet there is nothing. */
  learn({ project_id, distinct_id, main_id }: KnownId): void {
    const main = this.#nodeOf(project_id, main_id);
    main.stored = true;
    main.identified = true;
    // From here on the id is looked up as its main one; what stood for it before is nobody's.
    this.#shelf(project_id, distinct_id).set(distinct_id, main);
  }

  /** Decides a sighted merge, behind all that were decided before. */
  decide(merge: Merge): void {
    const from = rootOf(this.#nodeOf(merge.project_id, merge.from));
    const into = rootOf(this.#nodeOf(merge.project_id, merge.into));
    if (from === into) return;
    if (isRefused(merge, from, into)) this.refused.push(merge);
    else join(from, into, merge);
  }

  /** Tells what became of one of `sighted`: to be asked when all is decided. */
  changeOf({ project_id, id }: SightedId): Change | undefined {
    const node = this.#nodeOf(project_id, id);
    const isChanged = node.parent !== undefined || (node.identified && !node.stored);
    if (node.id !== id || !isChanged) return undefined;
    const main_id = rootOf(node).id;
    const { at: merged_at, created_at, stored } = node;
    return { project_id, distinct_id: id, main_id, merged_at, created_at, stored };
  }

  #nodeOf(project_id: number, id: string): Node {
    const ids = this.#shelf(project_id, id);
    let node = ids.get(id);
    if (!node) {
      node = { project_id, id, stored: false, identified: false, parent: undefined, at: 0, created_at: 0 };
      ids.set(id, node);
      this.#sighted.push(node);
    }
    return node;
  }

  /** One map of 200,000 ids would take 17 ms the moment it grows. */
  #shelf(project_id: number, id: string): Map<string, Node> {
    let shelves = this.#nodes.get(project_id);
    if (!shelves) {
      shelves = Array.from({ length: shelvesEach }, () => new Map<string, Node>());
      this.#nodes.set(project_id, shelves);
    }
    // An empty id has no last letter.
    return shelves[(id.charCodeAt(id.length - 1) || 0) % shelvesEach]!;
  }
}

/** Of one project: by an id's last letter, which tells apart what numbers and UUIDs are. */
const shelvesEach = 16;

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
