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
import type { Destination, EventChoice, FileChoice, S3Config } from "../destinations/config.ts";
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
  switch (type) {
    case "S3":
      return await intoObjects(delivery, await openS3(config, delivery), config);
    case "AzureBlob":
      return await intoObjects(delivery, azureStore(config), config);
    case "File":
      return await intoObjects(delivery, writtenByEngine(fileStore(config, delivery, delivery.mark)), config);
    case "Postgres":
      return await deliverPostgres(delivery, config);
    case "HTTP":
      return await deliverHttp(delivery, config);
    case "NoOp":
      return delivery.rows;
  }
}

async function intoObjects(
  work: ExportWork,
  store: ObjectStore,
  config: FileChoice & { prefix: string },
): Promise<number> {
  await deliverObjects(work, store, config, config.prefix);
  return work.rows;
}

async function openS3(config: S3Config, means: Means): Promise<ObjectStore> {
  return writtenByEngine(s3Store(config, await allow(means, s3Host(config))));
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
  switch (type) {
    case "S3":
      return await probeObjects(work, await openS3(config, means), config.prefix);
    case "AzureBlob":
      return await probeObjects(work, azureStore(config), config.prefix);
    case "File":
      return probeFolder(config, means.exportFileDir);
    case "Postgres":
      return await probePostgres(config, means.addresses, work.abort);
    case "HTTP":
      return await probeHttp(config, means, work.abort);
    case "NoOp":
      return;
  }
}

/** Long enough for a slow store to refuse. */
const probeMsMax = 30_000;

async function probeObjects(work: Writing, store: ObjectStore, prefix: string): Promise<void> {
  try {
    await store.writeText(work, checkKey(prefix), "This file may be removed.");
  } catch (thrown) {
    throw await failureOf(thrown, store, work);
  }
}
