// The types of groups each project has, in memory beside the keys. Capture asks here and never waits: a type nobody
// knows yet is announced in the journal, and Postgres decides.

import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Postgres } from "../storage/postgres.ts";
import { type Ticking, every } from "../work/tick.ts";
import { type SightedType, listGroupTypes } from "./store.ts";

/** A text as bytes, from a body. */
interface Bytes {
  source: Uint8Array;
  from: number;
  to: number;
}

interface Known {
  /** Decided. */
  types: Uint8Array[];
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
    if (!known) this.#projects.set(project_id, (known = { types: [], announced: [] }));
    for (const name of known.types) if (isSame(name, type)) return true;
    if (known.types.length >= limits.groupTypesMax) return false;
    for (const name of known.announced) if (isSame(name, type)) return true;
    if (known.announced.length >= limits.groupTypesMax) return false;
    const name = type.source.slice(type.from, type.to);
    known.announced.push(name);
    this.#announce({ project_id, name: new TextDecoder().decode(name) });
    return true;
  }

  /** The project's types, as Postgres last said. */
  decided(project_id: number): readonly Uint8Array[] {
    return this.#projects.get(project_id)?.types ?? [];
  }

  /** What Postgres says now. */
  learn(types: readonly SightedType[]): void {
    const projects = new Map<number, Known>();
    const encoder = new TextEncoder();
    for (const { project_id, name } of types) {
      let known = projects.get(project_id);
      if (!known) projects.set(project_id, (known = { types: [], announced: [] }));
      known.types.push(encoder.encode(name));
    }
    this.#projects = projects;
  }
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
  return every(limits.groupTypesAgeMsMax, "reading the types of groups", read, log);
}
