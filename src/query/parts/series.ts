// Series, entities and filters of a query, checked, and their names in titles.

import { refuseInput } from "../../core/fault.ts";
import {
  checkPropertyFilters,
  filtersOfQueries,
  type PropertyFilter,
} from "../../storage/events/property_filter.ts";
import type { EventsNode, Math } from "./model.ts";

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

export function seriesOf(node: EventsNode, attr: string): Series {
  const math = (node.math ?? "total") as Math;
  const filters = filtersOf(node, attr);
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

export function filtersOf(
  { properties, fixedProperties }: { properties?: unknown; fixedProperties?: unknown },
  attr: string,
): PropertyFilter[] {
  return [
    ...checkPropertyFilters(properties, `${attr}__properties`, filtersOfQueries),
    ...checkPropertyFilters(fixedProperties, `${attr}__fixedProperties`, filtersOfQueries),
  ];
}

/** The check of a query whose only parts are filters. */
export function checkFilters<Query extends { properties?: unknown }>(query: Query, attr: string) {
  return { attr, query, filters: filtersOf(query, attr), entities: [] };
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

/** The name of an entity in titles. */
export function shownName({ name, custom_name }: Pick<Entity, "name" | "custom_name">): string {
  return custom_name ?? (name === "$pageview" ? "Pageview" : name);
}
