// The names of arriving events and properties: recorded in memory as events are appended, and in ClickHouse before the
// events' segment is finished. A process that finds the segment after a crash reads its names again.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import { reasonOf } from "../../core/log.ts";
import { ClickHouseError, isTooBig } from "../../storage/clickhouse/clickhouse.ts";
import type { Uses } from "../../storage/services.ts";
import { changeKind } from "../event/changes.ts";
import { type ByteRange, emptyRange, rangeText, setBytes } from "../scan/byte_range.ts";
import { isPlain, nameKey, nameNumber, numberOf, passedOver, passedOverNumbers } from "./definition_name.ts";
import { ShapeHash } from "./event_shape.ts";
import { definitionLimits } from "./limits.ts";
import type { NamedEvent } from "./named_event.ts";
import { detectType } from "./property_type.ts";
import {
  type Definition,
  definitionKind,
  type EventProperty,
  insertDefinitions,
  insertEventProperties,
  pairNumber,
  readKnown,
  readShapes,
} from "./store.ts";

export type Unrecorded = "too_long" | "too_many";

interface DefinitionBookOptions extends Uses<"clickhouse" | "clock" | "log"> {
  /** Counts names that are not recorded; a repeated one may count again. */
  unrecorded(why: Unrecorded, names: number): void;
}

/** The name and the value of a property; one object for all of an event. */
interface Property {
  name: ByteRange;
  value: ByteRange;
}

interface ProjectNames {
  /** By nameKey(): whether the type is known. */
  names: Map<string, boolean>;
  /** By nameNumber(), names of properties: one that is not here is not in `names` either. */
  numbers: Set<number>;
  pairs: Set<number>;
  events: number;
  properties: number;
  /** Whether ClickHouse's names are among them. */
  isLoaded: boolean;
}

export class DefinitionBook {
  readonly #options: DefinitionBookOptions;
  readonly #shapes = new Map<number, ShapeCache>();
  readonly #projects = new Map<number, ProjectNames>();
  readonly #members = new JsonCursor();
  readonly #hash = new ShapeHash();
  /** To be written. */
  #definitions: Definition[] = [];
  #pairs: EventProperty[] = [];
  #settling: Promise<void> = Promise.resolve();

  constructor(options: DefinitionBookOptions) {
    this.#options = options;
  }

  /** The shapes of a project's events that were read. */
  shapesOf(project_id: number): ShapeCache {
    let shapes = this.#shapes.get(project_id);
    if (shapes) return shapes;
    this.#freeShapes();
    this.#shapes.set(project_id, (shapes = new ShapeCache()));
    return shapes;
  }

  #freeShapes(): void {
    const bytesMax = definitionLimits.shapesBytesMax;
    // A sum over all of them, for each new project only.
    let bytes = this.#shapes.values().reduce((sum, one) => sum + one.bytes, 0);
    for (const [project_id, shapes] of this.#shapes) {
      if (bytes < bytesMax) return;
      this.#shapes.delete(project_id);
      bytes -= shapes.bytes;
    }
  }

  /**
   * Records the names of an event that did not go the fast way, unless one of the same names was read before. Returns
   * how many it read.
   */
  record(row: NamedEvent): number {
    const shapes = this.shapesOf(row.project_id);
    const { low, high } = this.#hash.of(row);
    if (shapes.has(low, high)) return 0;
    shapes.add(low, high);
    return this.read(row);
  }

  /** Records the names of an event; returns how many it has. */
  read(row: NamedEvent): number {
    const { project_id, groups, properties, created_at: at } = row;
    const project = this.#projectOf(project_id);
    const event = this.#name(row.event);
    if (event === undefined) return 1;
    let names = 1 + row.changes.count;
    const added = { project_id, group_type: "", at };
    this.#add(project, { ...added, kind: definitionKind.event, name: event, type: undefined });
    const property: Property = { name: emptyRange(), value: emptyRange() };
    // PostHog reads the group's properties only of what identifies a group.
    if (!groups.identified) {
      const { source } = properties;
      const members = this.#members.open(source, properties.from);
      const ofEvent = { ...added, kind: definitionKind.eventProperty };
      for (const most = names + definitionLimits.eventPropertiesMax; members.next(); names++) {
        if (names === most) {
          this.#options.unrecorded("too_many", 1);
          return names;
        }
        setBytes(property.name, source, members.key, members.keyEnd);
        setBytes(property.value, source, members.value, members.end);
        this.#property(project, event, ofEvent, property, false);
      }
    }
    this.#readChanges(project, event, row, property);
    return names;
  }

  #readChanges(
    project: ProjectNames,
    event: string,
    { project_id, changes, groups, created_at: at }: NamedEvent,
    property: Property,
  ): void {
    const group_type = groups.identified ? rangeText(groups.types[0]!) : "";
    const ofPerson = { project_id, kind: definitionKind.personProperty, group_type: "", at };
    const ofGroup = { project_id, kind: definitionKind.groupProperty, group_type, at };
    for (let i = 0; i < changes.count; i++) {
      if (changes.ops[i] === changeKind.unset) continue;
      setBytes(property.name, changes.keySource(i), changes.keyFrom[i]!, changes.keyTo[i]!);
      setBytes(property.value, changes.source, changes.valueFrom[i]!, changes.valueTo[i]!);
      this.#property(
        project,
        event,
        changes.ops[i] === changeKind.group ? ofGroup : ofPerson,
        property,
        true,
      );
    }
  }

  #property(
    project: ProjectNames,
    event: string,
    added: Omit<Definition, "name" | "type">,
    property: Property,
    isDecoded: boolean,
  ): void {
    const isFull = project.properties >= bounds.properties;
    // A body may have a million names past the bound: none of them becomes a text.
    if (isFull && isPlain(property.name, isDecoded)) {
      const number = nameNumber(added.kind, added.group_type, property.name);
      if (!project.numbers.has(number)) return this.#options.unrecorded("too_many", 1);
    }
    const name = this.#name(property.name, isDecoded);
    if (name === undefined) return;
    if (added.kind === definitionKind.eventProperty && passedOver.has(name)) return;
    const isTyped = project.names.get(nameKey({ ...added, name }));
    if (isTyped === undefined && isFull) return this.#options.unrecorded("too_many", 1);
    // A list, an object and null show no type: a later value will.
    if (isTyped !== true) {
      const now = this.#options.clock.now();
      const { source, from, to } = property.value;
      const type = detectType(name, source, from, to, now);
      if (isTyped === undefined || type !== undefined) this.#add(project, { ...added, name, type });
    }
    this.#addPair(project, { project_id: added.project_id, event, property: name });
  }

  /** The text of a name; undefined for one that is not recorded. */
  #name({ source, from, to }: ByteRange, isDecoded = true): string | undefined {
    const { nameCharsMax } = definitionLimits;
    const isShort = to - from <= nameCharsMax * longestEscape;
    const text = isShort ? rangeText({ source, from, to }) : "";
    const name = isDecoded || !text.includes("\\") ? text : (JSON.parse(`"${text}"`) as string);
    if (isShort && (name.length <= nameCharsMax || [...name].length <= nameCharsMax)) return name;
    this.#options.unrecorded("too_long", 1);
    return undefined;
  }

  #add(project: ProjectNames, definition: Definition): void {
    const key = nameKey(definition);
    const isKnown = project.names.has(key);
    if (isKnown && (definition.type === undefined || project.names.get(key) === true)) return;
    const counted = definition.kind === definitionKind.event ? "events" : "properties";
    if (!isKnown && project[counted] >= bounds[counted]) return this.#options.unrecorded("too_many", 1);
    if (!isKnown) project[counted]++;
    project.names.set(key, definition.type !== undefined);
    project.numbers.add(numberOf(definition));
    this.#definitions.push(definition);
  }

  #addPair(project: ProjectNames, pair: EventProperty): void {
    const number = pairNumber(pair);
    if (project.pairs.has(number)) return;
    if (project.pairs.size >= definitionLimits.pairsMax) return this.#options.unrecorded("too_many", 1);
    project.pairs.add(number);
    this.#pairs.push(pair);
  }

  #projectOf(project_id: number): ProjectNames {
    let project = this.#projects.get(project_id);
    if (project) return project;
    project = {
      names: new Map(),
      numbers: new Set(passedOverNumbers),
      pairs: new Set(),
      events: 0,
      properties: 0,
      isLoaded: false,
    };
    this.#projects.set(project_id, project);
    return project;
  }

  /** Records the names of stored batches of an earlier process, which may not have written them. */
  async recover(batches: readonly bigint[]): Promise<void> {
    const most = definitionLimits.batchesAtOnceMax;
    for (let at = 0; at < batches.length; at += most) await this.#recoverSome(batches.slice(at, at + most));
  }

  /**
   * One batch after the other, where all at once are too much. A statement that is never answered must not stop the
   * flush.
   */
  async #recoverSome(batches: readonly bigint[]): Promise<void> {
    const { clickhouse, log } = this.#options;
    try {
      const where = "_batch IN {batches:Array(UInt64)}";
      for (const event of await readShapes(clickhouse, where, { batches })) this.read(event);
    } catch (thrown) {
      const isRefused = thrown instanceof ClickHouseError && thrown.kind === "refused";
      if (!isRefused && !isTooBig(thrown)) throw thrown;
      if (batches.length > 1) for (const batch of batches) await this.#recoverSome([batch]);
      else log.error("the names of stored events cannot be read", { reason: reasonOf(thrown) });
    }
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
      for (const project_id of new Set([...definitions, ...pairs].map((one) => one.project_id))) {
        await this.#load(project_id, definitions, dropped);
      }
      const recorded = definitions.filter((one) => !dropped.has(one));
      const most = definitionLimits.insertRowsMax;
      for (let at = 0; at < recorded.length; at += most)
        await insertDefinitions(clickhouse, recorded.slice(at, at + most));
      for (let at = 0; at < pairs.length; at += most)
        await insertEventProperties(clickhouse, pairs.slice(at, at + most));
      this.#freeNames();
    } catch (thrown) {
      this.#definitions = definitions.concat(this.#definitions);
      this.#pairs = pairs.concat(this.#pairs);
      throw thrown;
    }
  }

  /** Adds ClickHouse's names of a project, once. What exceeds the bounds then is `dropped`. */
  async #load(project_id: number, waiting: readonly Definition[], dropped: Set<Definition>): Promise<void> {
    const project = this.#projectOf(project_id);
    if (project.isLoaded) return;
    const known = await readKnown(this.#options.clickhouse, project_id);
    for (const number of known.pairs) project.pairs.add(number);
    const stored = new Map(known.names.map((one) => [nameKey(one), one]));
    const counts = { events: 0, properties: 0 };
    for (const { kind } of known.names) counts[kind === definitionKind.event ? "events" : "properties"]++;
    for (const one of waiting) {
      if (one.project_id !== project_id || stored.has(nameKey(one))) continue;
      const counted = one.kind === definitionKind.event ? "events" : "properties";
      if (counts[counted] >= bounds[counted]) dropped.add(one);
      else counts[counted]++;
    }
    if (dropped.size > 0) this.#options.unrecorded("too_many", dropped.size);
    for (const [key, one] of stored) {
      project.numbers.add(numberOf(one));
      if (project.names.get(key) !== true) project.names.set(key, one.type !== undefined);
    }
    Object.assign(project, counts, { isLoaded: true });
  }

  /** Forgets the names of the oldest projects when all are too many; they can be read again. */
  #freeNames(): void {
    let names = this.#projects.values().reduce((sum, one) => sum + one.names.size + one.pairs.size, 0);
    for (const [project_id, one] of this.#projects) {
      if (names <= definitionLimits.namesMax) return;
      this.#projects.delete(project_id);
      names -= one.names.size + one.pairs.size;
    }
  }
}

const bounds = { events: definitionLimits.eventsMax, properties: definitionLimits.propertiesMax } as const;

/** The longest spelling of a character is two escapes, or four bytes. */
const longestEscape = 12;

/** Slots that are tried for a shape, so that nobody can make a search long. */
const triesMax = 8;
const slotsLeast = 256;

/**
 * Shapes of one project that a process has read: hashes of 64 bits of an event's name and those of its properties. An
 * event of a known shape has no name that is not recorded.
 */
export class ShapeCache {
  /** Low and high half of each, in a table of twice as many slots; 0, 0 where a slot is free. */
  #slots = new Uint32Array(slotsLeast * 2);
  #count = 0;

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** 0, 0 is no shape, and counts as known. */
  has(low: number, high: number): boolean {
    if (low === 0 && high === 0) return true;
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (low << 1) & mask;
    for (let tries = 0; tries < triesMax; tries++) {
      if (slots[at] === low && slots[at + 1] === high) return true;
      if (slots[at] === 0 && slots[at + 1] === 0) return false;
      at = (at + 2) & mask;
    }
    return false;
  }

  /** Adds one that it does not have. Past the bound it begins anew. */
  add(low: number, high: number): void {
    if (this.#count >= definitionLimits.shapesMax) {
      this.#slots.fill(0);
      this.#count = 0;
    } else if (this.#count >= this.#slots.length >> 2) this.#grow();
    this.#put(low, high);
    this.#count++;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] !== 0 || old[at + 1] !== 0) this.#put(old[at]!, old[at + 1]!);
    }
  }

  /** Where all slots to be tried are used, the first is replaced. */
  #put(low: number, high: number): void {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (low << 1) & mask;
    const home = at;
    for (let tries = 0; tries < triesMax && (slots[at] !== 0 || slots[at + 1] !== 0); tries++)
      at = (at + 2) & mask;
    if (slots[at] !== 0 || slots[at + 1] !== 0) at = home;
    slots[at] = low;
    slots[at + 1] = high;
  }
}
