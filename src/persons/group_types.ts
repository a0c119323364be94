// The types of groups each project has and allows, in memory beside the keys. Capture asks here and never waits: a type
// nobody knows yet is announced in the journal, and Postgres decides.

import { limits } from "../core/limits.ts";
import { personLimits } from "./limits.ts";
import type { Log } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type Ticking, every } from "../work/tick.ts";
import { type ProjectGroupTypes, type SightedType, listGroupTypes } from "./group_type_store.ts";

/** A text as bytes, from a body. */
interface Bytes {
  source: Uint8Array;
  from: number;
  to: number;
}

interface Known {
  /** Decided, and allowed. */
  types: Uint8Array[];
  /** Places that are taken, by whatever types. */
  taken: number;
  /** undefined: any. */
  allowed: Uint8Array[] | undefined;
  /** Announced by this process since it last read what is decided. */
  announced: Uint8Array[];
}

export class KnownGroupTypes {
  #projects = new Map<number, Known>();
  readonly #announce: (type: SightedType) => void;

  /** `announce` is told of a type that is not decided; now and then again, until it is. */
  constructor(announce: (type: SightedType) => void) {
    this.#announce = announce;
  }

  /** True when the type is one of the project's, or may become one: then it is announced. */
  admit(project_id: number, type: Bytes): boolean {
    let known = this.#projects.get(project_id);
    if (!known) this.#projects.set(project_id, (known = newKnown()));
    if (isAmong(known.types, type)) return true;
    if (known.taken >= limits.groupTypesMax) return false;
    if (known.allowed && !isAmong(known.allowed, type)) return false;
    if (isAmong(known.announced, type)) return true;
    if (known.announced.length >= limits.groupTypesMax) return false;
    const name = type.source.slice(type.from, type.to);
    known.announced.push(name);
    this.#announce({ project_id, name: new TextDecoder().decode(name) });
    return true;
  }

  /** True when the project allows only others. */
  bars(project_id: number, type: Bytes): boolean {
    const allowed = this.#projects.get(project_id)?.allowed;
    return allowed !== undefined && !isAmong(allowed, type);
  }

  /** The project's types, as Postgres last said. */
  decided(project_id: number): readonly Uint8Array[] {
    return this.#projects.get(project_id)?.types ?? [];
  }

  /** What Postgres says now. */
  learn(projects: readonly ProjectGroupTypes[]): void {
    const learnt = new Map<number, Known>();
    const encoder = new TextEncoder();
    const encode = (names: readonly string[]) => names.map((name) => encoder.encode(name));
    for (const { project_id, names, allowed } of projects) {
      const usable = allowed ? names.filter((name) => allowed.includes(name)) : names;
      const types = encode(usable);
      const taken = names.length;
      learnt.set(project_id, { types, taken, allowed: allowed ? encode(allowed) : undefined, announced: [] });
    }
    this.#projects = learnt;
  }
}

function newKnown(): Known {
  return { types: [], taken: 0, allowed: undefined, announced: [] };
}

function isAmong(names: readonly Uint8Array[], type: Bytes): boolean {
  for (const name of names) if (isSame(name, type)) return true;
  return false;
}

function isSame(name: Uint8Array, { source, from, to }: Bytes): boolean {
  if (name.length !== to - from) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== source[from + i]) return false;
  return true;
}

/** Reads the types now, and again every few seconds; what it cannot read stays as it was. */
export function followGroupTypes(types: KnownGroupTypes, sql: Postgres, log: Log): Ticking {
  const read = async () => types.learn(await listGroupTypes(sql));
  void read().catch(() => {});
  return every(personLimits.groupTypesAgeMsMax, "reading the types of groups", read, log);
}
