// Every type of destination: a folder and a line each, but for the one that writes nothing.

import { secretsInUrl } from "../../core/foreign_text.ts";
import { eventColumns } from "../source/columns.ts";
import type { ExportServices } from "../source/statements.ts";
import type { ExportedNames } from "../source/store.ts";
import { azureBlob } from "./azure/azure.ts";
import { type Destination, type DestinationKind, destinationKind } from "./destination.ts";
import type { Settings } from "./fields.ts";
import { file } from "./file/file.ts";
import { http } from "./http/http.ts";
import { postgres } from "./postgres/postgres.ts";
import { s3 } from "./s3/s3.ts";

export const destinations = {
  S3: s3,
  AzureBlob: azureBlob,
  Postgres: postgres,
  HTTP: http,
  File: file,
  /** Writes nothing: a run only counts its rows. */
  NoOp: destinationKind({
    fields: { arg: { kind: "str", otherwise: "" } },
    columns: eventColumns,
    write: ({ rows }) => Promise.resolve(rows),
    probe: () => Promise.resolve(),
  }),
} as const satisfies Record<string, DestinationKind>;

export type DestinationType = keyof typeof destinations;
export const destinationTypes = Object.keys(destinations) as DestinationType[];

/** A stored destination with its secrets and defaults. It was checked when it was stored. */
export function openDestination(type: DestinationType, stored: Settings, encrypted: Settings): Destination {
  const kind: DestinationKind = destinations[type];
  const config: Settings = {};
  const secrets: string[] = [];
  for (const [name, { secret, otherwise }] of Object.entries(kind.fields)) {
    const value = (secret ? encrypted : stored)[name] ?? structuredClone(otherwise);
    config[name] = value;
    if (typeof value !== "string") continue;
    if (secret) secrets.push(value);
    else if (name === "url" || name === "endpoint_url") secrets.push(...secretsInUrl(value));
  }
  const { include_events = [], exclude_events = [] } = config as Partial<ExportedNames>;
  return { kind, config, secrets, events: { include_events, exclude_events } };
}

export function unsupportedTypes(services: Pick<ExportServices, "clickhouse" | "exportFileDir">) {
  return destinationTypes.filter((type) => destinations[type].problem?.(services) !== undefined);
}

/** Tests a destination. @throws ExportError with the reason. */
export async function probe({ kind, config, rows }: Destination, services: ExportServices): Promise<void> {
  const tag = `sluice probe ${crypto.randomUUID()}`;
  await kind.probe({ ...services, tag, abort: AbortSignal.timeout(probeMsMax) }, config, rows);
}

/** Long enough for a slow store to refuse. */
const probeMsMax = 30_000;
