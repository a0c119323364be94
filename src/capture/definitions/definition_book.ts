// The names of arriving events and properties: recorded in memory as events are appended, and in ClickHouse before the
// events' segment is finished. A process that finds the segment after a crash reads its names again.

import { JsonCursor } from "../../core/json/json_cursor.ts";
import { toReason } from "../../core/log.ts";
import { ClickHouseError, isTooBig } from "../../storage/clickhouse/clickhouse.ts";
import type { Uses } from "../../storage/services.ts";
import { changeKind } from "../fields/changes.ts";
import { type ByteRange, emptyRange, rangeText, setBytes } from "../fields/raw_value.ts";
import { isPlain, nameKey, nameNumber, passedOver } from "./definition_name.ts";
import { type NamedEvent, ShapeHash } from "./event_shape.ts";
import { KnownNames, type KnownNamesOptions, type ProjectNames } from "./known_names.ts";
import { definitionLimits } from "./limits.ts";
import { detectType } from "./property_type.ts";
import { ShapeCaches } from "./shape_cache.ts";
import { type Definition, definitionKind, readShapes } from "./store.ts";

type DefinitionBookOptions = KnownNamesOptions & Uses<"clock" | "log">;

/** The name and the value of a property; one object for all of an event. */
interface Property {
  name: ByteRange;
  value: ByteRange;
}

export class DefinitionBook {
  readonly shapes = new ShapeCaches();
  readonly #options: DefinitionBookOptions;
  readonly #names: KnownNames;
  readonly #members = new JsonCursor();
  readonly #hash = new ShapeHash();

  constructor(options: DefinitionBookOptions) {
    this.#options = options;
    this.#names = new KnownNames(options);
  }

  /**
   * Records the names of an event that did not go the fast way, unless one of the same names was read before. Returns
   * how many it read.
   */
  record(row: NamedEvent): number {
    const shapes = this.shapes.of(row.project_id);
    const { low, high } = this.#hash.of(row);
    if (shapes.has(low, high)) return 0;
    shapes.add(low, high);
    return this.read(row);
  }

  read(row: NamedEvent): number {
    const { project_id, groups, properties, created_at: at } = row;
    const project = this.#names.of(project_id);
    const event = this.#name(row.event);
    if (event === undefined) return 1;
    let names = 1 + row.changes.count;
    const added = { project_id, group_type: "", at };
    this.#names.add(project, { ...added, kind: definitionKind.event, name: event, type: undefined });
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
      const added = changes.ops[i] === changeKind.group ? ofGroup : ofPerson;
      this.#property(project, event, added, property, true);
    }
  }

  #property(
    project: ProjectNames,
    event: string,
    added: Omit<Definition, "name" | "type">,
    property: Property,
    isDecoded: boolean,
  ): void {
    const isFull = project.properties >= definitionLimits.propertiesMax;
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
      if (isTyped === undefined || type !== undefined) this.#names.add(project, { ...added, name, type });
    }
    this.#names.addPair(project, { project_id: added.project_id, event, property: name });
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

  /** Resolves when all names that were recorded before are in ClickHouse. */
  settle(): Promise<void> {
    return this.#names.settle();
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
      else log.error("the names of stored events cannot be read", { reason: toReason(thrown) });
    }
  }
}

/** The longest spelling of a character is two escapes, or four bytes. */
const longestEscape = 12;
