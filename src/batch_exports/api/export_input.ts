// Checks an export in a request against the rules and what is stored. Destinations are not contacted; a host's address
// may be resolved.

import type { Addresses } from "../../access/address.ts";
import type { Secrets } from "../../access/secret.ts";
import { Fault, refuseInput, UserError } from "../../core/fault.ts";
import type { SqlParser } from "../../query/sql/parser/parser.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { toReads } from "../../storage/clickhouse/query_options.ts";
import { whyNoPattern } from "../../storage/clickhouse/trial.ts";
import { personKeysIn, refuseUnset } from "../../storage/events/lifted_properties.ts";
import {
  checkPropertyFilters,
  compilePropertyFilters,
  patternsIn,
} from "../../storage/events/property_filter.ts";
import { readDestination, refuseChoice } from "../destinations/check.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import { destinations } from "../destinations/destinations.ts";
import type { Field } from "../destinations/fields.ts";
import { readCadence } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import type { ExportUpdate } from "../model.ts";
import { queryProblem } from "../query/check_store.ts";
import { compileQuery } from "../query/compile.ts";
import { refuseQuery } from "../query/read.ts";
import type { ExportModel } from "../query/tables.ts";
import type { StoredExport } from "../stores/export_store.ts";

export interface Checks {
  project_id: number;
  clickhouse: ClickHouse;
  parse: SqlParser["parse"];
  secrets: Secrets;
  addresses: Addresses;
  /** Why this server cannot write files; undefined when it can. */
  exportFileDir: string | undefined;
}

/**
 * An export ready to be stored, and its destination with unencrypted secrets.
 * @param changes a checked body: all fields for a new export, the changed ones for a stored one.
 * @throws Fault for the first wrong field; the export's own fields are checked before its destination's.
 */
export async function checkExport(checks: Checks, changes: ExportUpdate, stored?: StoredExport) {
  const exportPart = await checkOwnPart(checks, changes, stored);
  const destination = await checkDestinationPart(checks, changes, stored);
  if (destination.type === "HTTP" && exportPart.model !== "events")
    refuseInput("HTTP batch exports only support the events model", "model");
  return {
    destination,
    fields: {
      ...exportPart,
      destination_type: destination.type,
      destination_config: destination.config,
      destination_secrets: destination.sealed,
    },
  };
}

/** Checks an export's own fields, which are reported before its destination's. */
async function checkOwnPart(checks: Checks, changes: ExportUpdate, stored?: StoredExport) {
  const { clickhouse, parse, project_id } = checks;
  const model = changes.model === undefined && stored ? stored.model : checkModel(changes.model);
  const interval =
    changes.interval === undefined && stored ? stored.interval : checkInterval(changes.interval);
  const native_query = chooseQuery(changes, stored);
  const filters = chooseFilters(changes, model, stored);
  const moment = (name: "last_paused_at" | "start_at" | "end_at") =>
    changes[name] === undefined ? (stored?.[name] ?? null) : changes[name];
  const start_at = moment("start_at");
  const end_at = moment("end_at");
  if (start_at !== null && end_at !== null && Date.parse(end_at) < Date.parse(start_at))
    refuseInput("'end_at' must not be before 'start_at'.", "end_at");
  if (changes.filters) await checkFilters(clickhouse, project_id, changes.filters);
  if (native_query !== null) {
    const reason = await queryProblem(
      clickhouse,
      await compileQuery(parse, native_query, { model, project_id }, clickhouse.zones),
      model,
    );
    if (reason !== undefined) refuseQuery(`Invalid HogQL query: ${reason}`);
  }
  return {
    name: changes.name ?? stored?.name ?? "",
    model,
    paused: changes.paused ?? stored?.paused ?? false,
    last_paused_at: moment("last_paused_at"),
    start_at,
    end_at,
    native_query,
    filters,
    ...readCadence(changes, interval, stored),
  };
}

async function checkDestinationPart(checks: Checks, changes: ExportUpdate, stored?: StoredExport) {
  const { secrets, addresses, clickhouse, exportFileDir } = checks;
  const input = changes.destination;
  if (input === undefined && stored) {
    const { destination_type, destination_config, destination_secrets } = stored;
    return { type: destination_type, config: destination_config, secrets: {}, sealed: destination_secrets };
  }
  const destination = readDestination(input ?? {}, stored && openStored(secrets, stored, input));
  const kind: DestinationKind = destinations[destination.type];
  const reason = kind.problem?.({ clickhouse, exportFileDir });
  if (reason !== undefined) refuseChoice(destination.type, "destination__type", ` ${reason}.`);
  const target = kind.findHost?.(destination.config);
  const refused = target && (await addresses.findResolvedRefusal(target.host));
  if (target && refused !== undefined) refuseInput(refused, `destination__config__${target.field}`);
  return { ...destination, sealed: secrets.seal(destination.secrets) };
}

/**
 * The stored destination with its secrets. If they were encrypted with a lost key, the request must contain all of
 * them.
 */
function openStored(secrets: Secrets, stored: StoredExport, input: ExportUpdate["destination"]) {
  const { destination_type: type, destination_config: config, destination_secrets } = stored;
  try {
    return { type, config, secrets: secrets.open(destination_secrets) };
  } catch (thrown) {
    if (!(thrown instanceof UserError)) throw thrown;
    const lost = Object.entries<Field>(destinations[type].fields).find(
      ([name, { secret }]) => secret && !(name in (input?.config ?? {})),
    );
    const sameType = input?.type === undefined || input.type === type;
    if (!lost || !sameType) return { type, config, secrets: {} };
    const detail = "This field is required again: its stored value was sealed with another SECRET_KEY.";
    return refuseInput(detail, `destination__config__${lost[0]}`, "required");
  }
}

/** Checked here, so that a wrong query fails the request and not every run. */
async function checkFilters(clickhouse: ClickHouse, project_id: number, filters: unknown): Promise<void> {
  const checked = checkPropertyFilters(filters, "filters");
  const reason = await whyNoPattern(clickhouse, patternsIn(checked));
  if (reason !== undefined) refuseInput(reason, "filters");
  await refuseUnset(toReads(clickhouse, project_id).query, project_id, personKeysIn(checked), "filters");
}

/** Events by default, as in PostHog. */
function checkModel(model: string | null | undefined): ExportModel {
  if (model === undefined || model === null || model === "") return "events";
  if (model === "events" || model === "persons") return model;
  return refuseChoice(model, "model");
}

function checkInterval(interval: string | undefined): string {
  if (interval === "hour" || interval === "day" || interval === "week") return interval;
  const minutes = Number(/^every ([1-9]\d{0,3}) minutes$/.exec(interval ?? "")?.[1]);
  if (interval !== undefined && minutes <= exportLimits.minutesMax) return interval;
  return refuseChoice(interval, "interval");
}

/** The query under either name, the changed one of two; a blank one counts as none. */
function chooseQuery(changes: ExportUpdate, stored: StoredExport | undefined): string | null {
  const before = stored?.native_query ?? null;
  const named = [changes.native_query, changes.hogql_query].filter((query) => query !== undefined);
  if (named.length === 0) return before;
  const texts = named.filter((query) => query !== null && query !== "");
  return texts.find((query) => query !== before) ?? texts[0] ?? null;
}

function chooseFilters(changes: ExportUpdate, model: ExportModel, stored: StoredExport | undefined): unknown {
  const filters = changes.filters === undefined ? (stored?.filters ?? null) : changes.filters;
  if (filters === null) return null;
  if (!Array.isArray(filters)) refuseInput("should be an array", "filters");
  const checked = checkPropertyFilters(filters, "filters");
  try {
    compilePropertyFilters(checked, {}, "f", { rows: model, now: 0, timezone: "UTC" });
  } catch (thrown) {
    // The fault of the compiler does not name the field.
    if (thrown instanceof Fault) refuseInput(thrown.detail, "filters", thrown.code);
    throw thrown;
  }
  return filters;
}
