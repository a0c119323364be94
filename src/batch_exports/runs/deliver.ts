// Delivers the rows of an interval to a destination of any type.

import { reasonOf } from "../../core/log.ts";
import {
  captureColumns,
  type ExportColumn,
  eventColumns,
  personColumns,
  tableColumns,
} from "../source/columns.ts";
import { type ExportWorkSource, type ExportWork, measured, type Means, typed } from "../source/delivery.ts";
import { azureStore } from "../destinations/objects/azure.ts";
import type { Destination, EventChoice, FileChoice } from "../destinations/config.ts";
import { fileStore, probeFolder } from "../destinations/objects/file.ts";
import { deliverHttp, probeHttp } from "../destinations/http.ts";
import { deliverPostgres, probePostgres } from "../destinations/postgres.ts";
import { s3Host, s3Store } from "../destinations/objects/s3.ts";
import { writtenByEngine } from "../destinations/objects/engine_objects.ts";
import { ExportError } from "../destinations/failure.ts";
import { checkKey } from "../destinations/objects/object_key.ts";
import {
  deliverObjects,
  failureOf,
  type ObjectStore,
  type Writing,
} from "../destinations/objects/objects.ts";
import type { ExportSource } from "../source/store.ts";

/** @returns how many rows the destination has; 0, without contacting it, when there are none. */
export async function deliver(destination: Destination, work: ExportWorkSource): Promise<number> {
  return await measured(work, async (delivery) =>
    delivery.rows === 0 ? 0 : await bring(destination, await typed(delivery)),
  );
}

async function bring(destination: Destination, delivery: ExportWork): Promise<number> {
  const { type, config } = destination;
  if (type === "Postgres") return await deliverPostgres(delivery, config);
  if (type === "HTTP") return await deliverHttp(delivery, config);
  if (type !== "NoOp")
    await deliverObjects(delivery, await storeOf(destination, delivery), config, config.prefix);
  return delivery.rows;
}

/** Where a destination's files are written to. */
async function storeOf(
  { type, config }: Extract<Destination, { config: FileChoice }>,
  work: Writing,
): Promise<ObjectStore> {
  if (type === "AzureBlob") return azureStore(config);
  if (type === "File") return writtenByEngine(fileStore(config, work, work.mark));
  return writtenByEngine(s3Store(config, await allow(work, s3Host(config))));
}

/**
 * Checks a host just before ClickHouse connects to it, since ClickHouse resolves the name itself.
 * @returns the address that was checked, where it matters.
 * @throws ExportError: final for a private address, else retryable.
 */
async function allow({ addresses }: Means, host: string): Promise<string | undefined> {
  const refusal = await addresses.resolvedRefusalOf(host);
  if (refusal !== undefined) throw new ExportError(refusal, true);
  return await addresses.lookedAt(host).catch((thrown: unknown) => {
    throw new ExportError(reasonOf(thrown), false);
  });
}

/** The columns for a destination, unless the owner selects others. */
export function columnsFor({ type }: Destination, model: ExportSource["model"]): readonly ExportColumn[] {
  if (model === "persons") return personColumns;
  if (type === "Postgres") return tableColumns;
  return type === "HTTP" ? captureColumns : eventColumns;
}

/** The condition for the events that a destination includes. */
export function choiceOf({ config }: Destination): EventChoice {
  return "include_events" in config ? config : { include_events: [], exclude_events: [] };
}

/**
 * Tests a destination with an empty file, a connection, or a request. Only that file is left there.
 * @throws ExportError with the reason.
 */
export async function probe(destination: Destination, means: Means): Promise<void> {
  const { type, config } = destination;
  const mark = `sluice probe ${crypto.randomUUID()}`;
  const work = { ...means, mark, abort: AbortSignal.timeout(probeMsMax) };
  if (type === "Postgres") return await probePostgres(config, means.addresses, work.abort);
  if (type === "HTTP") return await probeHttp(config, means, work.abort);
  if (type === "File") return probeFolder(config, means.exportFileDir);
  if (type === "NoOp") return;
  const store = await storeOf(destination, work);
  try {
    await store.writeText(work, checkKey(config.prefix), "This file may be removed.");
  } catch (thrown) {
    throw await failureOf(thrown, store, work);
  }
}

/** Long enough for a slow store to refuse. */
const probeMsMax = 30_000;
