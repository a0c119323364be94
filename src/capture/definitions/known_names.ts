// The names that a process knows of each project, within their bounds, and those of them that are yet to be written to
// ClickHouse.

import type { Uses } from "../../storage/services.ts";
import { nameKey, passedOverNumbers, toNameNumber } from "./definition_name.ts";
import { definitionLimits } from "./limits.ts";
import {
  type Definition,
  definitionKind,
  type EventProperty,
  insertDefinitions,
  insertEventProperties,
  pairNumber,
  readKnown,
} from "./store.ts";

export type Unrecorded = "too_long" | "too_many";

export interface KnownNamesOptions extends Uses<"clickhouse"> {
  /** Counts names that are not recorded; a repeated one may count again. */
  unrecorded(why: Unrecorded, names: number): void;
}

export type ProjectNames = ReturnType<typeof noNames>;

export class KnownNames {
  readonly #options: KnownNamesOptions;
  readonly #projects = new Map<number, ProjectNames>();
  /** Definitions that are to be written. */
  #definitions: Definition[] = [];
  #pairs: EventProperty[] = [];
  #settling: Promise<void> = Promise.resolve();

  constructor(options: KnownNamesOptions) {
    this.#options = options;
  }

  of(project_id: number): ProjectNames {
    return this.#projects.getOrInsertComputed(project_id, noNames);
  }

  add(project: ProjectNames, definition: Definition): void {
    const key = nameKey(definition);
    const isKnown = project.names.has(key);
    if (isKnown && (definition.type === undefined || project.names.get(key) === true)) return;
    const counted = definition.kind === definitionKind.event ? "events" : "properties";
    if (!isKnown && project[counted] >= bounds[counted]) return this.#options.unrecorded("too_many", 1);
    if (!isKnown) project[counted]++;
    project.names.set(key, definition.type !== undefined);
    project.numbers.add(toNameNumber(definition));
    this.#definitions.push(definition);
  }

  addPair(project: ProjectNames, pair: EventProperty): void {
    const number = pairNumber(pair);
    if (project.pairs.has(number)) return;
    if (project.pairs.size >= definitionLimits.pairsMax) return this.#options.unrecorded("too_many", 1);
    project.pairs.add(number);
    this.#pairs.push(pair);
  }

  /** Resolves when all names that were recorded before are in ClickHouse. */
  settle(): Promise<void> {
    if (this.#definitions.length === 0 && this.#pairs.length === 0) return this.#settling;
    this.#settling = this.#settling.catch(() => {}).then(() => this.#write());
    return this.#settling;
  }

  async #write(): Promise<void> {
    const { clickhouse } = this.#options;
    const [definitions, pairs] = [this.#definitions, this.#pairs];
    [this.#definitions, this.#pairs] = [[], []];
    try {
      const dropped = new Set<Definition>();
      for (const project_id of new Set([...definitions, ...pairs].map((item) => item.project_id))) {
        await this.#load(project_id, definitions, dropped);
      }
      const recorded = definitions.filter((item) => !dropped.has(item));
      const most = definitionLimits.insertRowsMax;
      for (let at = 0; at < recorded.length; at += most)
        await insertDefinitions(clickhouse, recorded.slice(at, at + most));
      for (let at = 0; at < pairs.length; at += most)
        await insertEventProperties(clickhouse, pairs.slice(at, at + most));
      this.#free();
    } catch (thrown) {
      this.#definitions = definitions.concat(this.#definitions);
      this.#pairs = pairs.concat(this.#pairs);
      throw thrown;
    }
  }

  /** Adds ClickHouse's names of a project, once. What exceeds the bounds then is `dropped`. */
  async #load(project_id: number, waiting: readonly Definition[], dropped: Set<Definition>): Promise<void> {
    const project = this.of(project_id);
    if (project.isLoaded) return;
    const known = await readKnown(this.#options.clickhouse, project_id);
    for (const number of known.pairs) project.pairs.add(number);
    const stored = new Map(known.names.map((name) => [nameKey(name), name]));
    const counts = { events: 0, properties: 0 };
    for (const { kind } of known.names) counts[kind === definitionKind.event ? "events" : "properties"]++;
    for (const item of waiting) {
      if (item.project_id !== project_id || stored.has(nameKey(item))) continue;
      const counted = item.kind === definitionKind.event ? "events" : "properties";
      if (counts[counted] >= bounds[counted]) dropped.add(item);
      else counts[counted]++;
    }
    if (dropped.size > 0) this.#options.unrecorded("too_many", dropped.size);
    for (const [key, item] of stored) {
      project.numbers.add(toNameNumber(item));
      if (project.names.get(key) !== true) project.names.set(key, item.type !== undefined);
    }
    Object.assign(project, counts, { isLoaded: true });
  }

  /** Forgets the names of the oldest projects when all are too many; they can be read again. */
  #free(): void {
    let names = this.#projects
      .values()
      .reduce((sum, project) => sum + project.names.size + project.pairs.size, 0);
    for (const [project_id, item] of this.#projects) {
      if (names <= definitionLimits.namesMax) return;
      this.#projects.delete(project_id);
      names -= item.names.size + item.pairs.size;
    }
  }
}

const bounds = { events: definitionLimits.eventsMax, properties: definitionLimits.propertiesMax } as const;

function noNames() {
  return {
    /** Keyed by nameKey(): whether the type is known. */
    names: new Map<string, boolean>(),
    /** Keyed by nameNumber(), names of properties: one that is not here is not in `names` either. */
    numbers: new Set(passedOverNumbers),
    pairs: new Set<number>(),
    events: 0,
    properties: 0,
    /** Whether ClickHouse's names are among them. */
    isLoaded: false,
  };
}
