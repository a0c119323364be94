// The type of destinations of batch exports. Each has a folder and a line in destinations.ts.

import type { ExportModel } from "../query/tables.ts";
import type { ExportColumn } from "../source/columns.ts";
import type { ExportServices, ExportWork, Writing } from "../source/statements.ts";
import type { ExportedNames } from "../source/store.ts";
import type { Field, Settings, ValuesOf } from "./fields.ts";

export type DestinationFields = Readonly<Record<string, Field>>;

export interface DestinationParts<Config> {
  fields: DestinationFields;
  /** The settings of a request that has other fields as well. @throws Fault */
  read?(sent: Settings): Settings;
  /** Checks what the rules of single fields cannot. @param settings without defaults. @throws Fault */
  check?(settings: Settings): void;
  /** The field with the host of the data, and the host; undefined where there is none. */
  findHost?(settings: Settings): { field: string; host: string } | undefined;
  /** The columns of events, unless the owner selects others. */
  columns: readonly ExportColumn[];
  /** Why this process cannot write to any such destination; undefined when it can. */
  problem?(services: Pick<ExportServices, "clickhouse" | "exportFileDir">): string | undefined;
  /**
   * Writes the rows of an interval, of which there is at least one.
   * @returns how many of them the destination has. @throws ExportError
   */
  write(work: ExportWork, config: Config): Promise<number>;
  /** Removes files of one folder that earlier attempts at an interval wrote. @throws ExportError */
  remove?(work: Writing, config: Config, keys: readonly string[]): Promise<void>;
  /** Tests a destination; at most one file is left there. @throws ExportError with the reason. */
  probe(work: Writing, config: Config, rows?: ExportedRows): Promise<void>;
}

/** The model whose rows an export writes; `selected`: the columns of its query, if it has one. */
export interface ExportedRows {
  model: ExportModel;
  selected: readonly string[] | undefined;
}

/** A kind, whatever its configuration: `fields` defines it. */
export type DestinationKind = DestinationParts<Settings>;

export function destinationKind<const Own extends DestinationFields>(
  parts: Omit<DestinationParts<ValuesOf<Own>>, "fields"> & { fields: Own },
): DestinationKind {
  return parts as unknown as DestinationKind;
}

/** A destination with all its settings, secrets too. */
export interface Destination {
  kind: DestinationKind;
  config: Settings;
  events: ExportedNames;
  /** Values that its errors may repeat, and that no log or reply may show. */
  secrets: readonly string[];
  /** The model and columns that a test expects in the destination. */
  rows?: ExportedRows;
}
