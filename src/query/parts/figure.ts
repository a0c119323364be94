// Series and filters of a query, checked and named; and the number of a result whose persons are listed.

import { refuseInput } from "../../core/fault.ts";
import {
  checkPropertyFilters,
  filtersOfQueries,
  type PropertyFilter,
} from "../../storage/events/property_filter.ts";
import type { EventsNode, FigureFields, Math } from "./model.ts";

export type FigureField = keyof FigureFields;

export interface FigureRef extends FigureFields {
  /** Names the query in faults. */
  attr: string;
}

/** A statement whose rows have a `person_id`, one of each person or several. */
export interface PersonStatement {
  text: string;
  params: Record<string, unknown>;
  /**
   * Columns of the list of persons beside them: `appearances`, of one row a person: how many intervals later the person
   * came; `event_count`: the sum of the rows' `events`.
   */
  adds?: "appearances" | "event_count";
}

/** How a kind finds the persons behind its numbers. */
export interface PersonsBehind<Context, Checked> {
  takes: readonly FigureField[];
  /** @throws Fault for a number that the result does not have. */
  of: (context: Context, checked: Checked, figure: FigureRef) => Promise<PersonStatement> | PersonStatement;
}

/** @throws Fault named by the field. */
export function noFigure({ attr }: FigureRef, field: FigureField, detail: string): never {
  refuseInput(detail, `${attr}__${field}`);
}

/** The index of a member of `of`. @throws Fault for a number beyond them, and for none where one is needed. */
export function figureIndex(
  figure: FigureRef,
  field: "series" | "interval",
  of: readonly unknown[],
  otherwise?: number,
): number {
  const index = figure[field] ?? otherwise;
  if (index !== undefined && index < of.length) return index;
  return noFigure(figure, field, `A number from 0 to ${of.length - 1} is needed.`);
}

/** The index of the line with a breakdown's value, as the result shows it; -1 for none. */
export function figureLine(value: unknown, lineValues: readonly (string | string[])[]): number {
  const valueText = JSON.stringify([value].flat().map(String));
  return lineValues.findIndex((item) => JSON.stringify([item].flat()) === valueText);
}

/** The events of a name, or of any name, with certain properties. */
export interface Entity {
  /** undefined: any. */
  event: string | undefined;
  name: string;
  custom_name: string | null;
  filters: readonly PropertyFilter[];
}

export interface Series extends Entity {
  node: EventsNode;
  math: Math;
}

export function readSeries(node: EventsNode, attr: string): Series {
  const math = (node.math ?? "total") as Math;
  const filters = readNodeFilters(node, attr);
  return {
    node,
    math,
    ...entityNamed(node.event ?? undefined),
    custom_name: node.custom_name ?? null,
    filters,
  };
}

/** The events of this name, of any without one. */
export function entityNamed(event: string | undefined) {
  return { event, name: event ?? "All events" };
}

interface Filtered {
  properties?: unknown;
  fixedProperties?: unknown;
  dateRange?: { date_from?: unknown; daysOfWeek?: number[] | null } | null;
}

/** Filters of a query or of one of its parts; those of its days of the week too. */
export function readNodeFilters({ properties, fixedProperties, dateRange }: Filtered, attr: string) {
  const days = [...new Set(dateRange?.daysOfWeek)];
  const ofDays = { type: "hogql", key: `toDayOfWeek(timestamp) in (${days.join(", ")})` };
  return [
    ...checkPropertyFilters(properties, `${attr}__properties`, filtersOfQueries),
    ...checkPropertyFilters(fixedProperties, `${attr}__fixedProperties`, filtersOfQueries),
    ...(days.length % 7 === 0
      ? []
      : checkPropertyFilters([ofDays], `${attr}__dateRange__daysOfWeek`, filtersOfQueries)),
  ];
}

/** The check of a query whose only parts are filters. */
export function checkFilters<Query extends Filtered>(query: Query, attr: string) {
  return { attr, query, filters: readNodeFilters(query, attr), entities: [] };
}

interface Broken {
  breakdownFilter?: { breakdown?: unknown; breakdowns?: unknown } | null;
}

/** @throws Fault for a breakdown, where a kind has none. */
export function refuseBreakdown({ breakdownFilter: filter }: Broken, attr: string): void {
  for (const name of ["breakdown", "breakdowns"] as const) {
    if (isGiven(filter?.[name]))
      refuseField("A breakdown of this query", `${attr}__breakdownFilter__${name}`);
  }
}

export function refuseField(what: string, attr: string): never {
  refuseInput(`${what} is not supported.`, attr);
}

/** Whether a value means anything: null, false and what is empty do not. */
export function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  return !(Array.isArray(value) && value.length === 0);
}

/** A property of persons as a number, in SQL. */
export function personNumber(property: string): string {
  return `toFloat(person.properties['${property.replaceAll(/[\\']/g, String.raw`\$&`)}'])`;
}

/** The name of an entity in titles. */
export function shownName({ name, custom_name }: Pick<Entity, "name" | "custom_name">): string {
  return custom_name ?? (name === "$pageview" ? "Pageview" : name);
}
