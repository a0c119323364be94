// A cache of each project's group types, which capture reads without waiting. An unknown type is announced in the
// journal; Postgres decides whether it gets an index.

import { isTextAt } from "../core/bytes.ts";
import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type IntervalTask, startInterval } from "../work/interval.ts";
import { type AnnouncedType, listGroupTypes, type ProjectGroupTypes } from "./group_type_store.ts";
import { personLimits } from "./limits.ts";

/** A name as bytes of a body. */
type Bytes = Readonly<{ source: Uint8Array; from: number; to: number }>;

interface Known {
  /** Types that have an index and are allowed. */
  types: Uint8Array[];
  assigned: number;
  /** undefined: any type is allowed. */
  allowed: Uint8Array[] | undefined;
  /** Types announced by this process since it last read the table. */
  announced: Uint8Array[];
}

const newProject = (): Known => ({ types: [], assigned: 0, allowed: undefined, announced: [] });

export class KnownGroupTypes {
  #projects = new Map<number, Known>();
  readonly #announce: (type: AnnouncedType) => void;

  /** `announce` is called for an undecided type, once after each reading of the table, until it is decided. */
  constructor(announce: (type: AnnouncedType) => void) {
    this.#announce = announce;
  }

  /** Whether the project has the type, or may still assign it an index; in the latter case it is announced. */
  admit(project_id: number, type: Bytes): boolean {
    const project = this.#projects.getOrInsertComputed(project_id, newProject);
    if (isAmong(project.types, type)) return true;
    if (project.assigned >= limits.groupTypesMax) return false;
    if (project.allowed && !isAmong(project.allowed, type)) return false;
    if (isAmong(project.announced, type)) return true;
    if (project.announced.length >= limits.groupTypesMax) return false;
    const name = type.source.slice(type.from, type.to);
    project.announced.push(name);
    this.#announce({ project_id, name: new TextDecoder().decode(name) });
    return true;
  }

  /** Whether the project allows certain types only, and not this one. */
  isForbidden(project_id: number, type: Bytes): boolean {
    const allowed = this.#projects.get(project_id)?.allowed;
    return allowed !== undefined && !isAmong(allowed, type);
  }

  /** The project's types at the last reading. */
  assigned(project_id: number): readonly Uint8Array[] {
    return this.#projects.get(project_id)?.types ?? [];
  }

  replace(projects: readonly ProjectGroupTypes[]): void {
    const fresh = new Map<number, Known>();
    const encoder = new TextEncoder();
    const encode = (names: readonly string[]) => names.map((name) => encoder.encode(name));
    for (const { project_id, names, allowed } of projects) {
      const types = encode(allowed ? names.filter((name) => allowed.includes(name)) : names);
      const encoded = allowed ? encode(allowed) : undefined;
      fresh.set(project_id, { types, assigned: names.length, allowed: encoded, announced: [] });
    }
    this.#projects = fresh;
  }
}

function isAmong(names: readonly Uint8Array[], { source, from, to }: Bytes): boolean {
  return names.some((name) => isTextAt(source, from, to, name));
}

/** Reads the types now and every `groupTypesAgeMsMax`; after a failure the earlier ones remain. */
export function followGroupTypes(types: KnownGroupTypes, sql: Postgres, log: Log): IntervalTask {
  const read = async () => types.replace(await listGroupTypes(sql));
  void read().catch(() => {});
  return startInterval(personLimits.groupTypesAgeMsMax, "reading the types of groups", read, log);
}
