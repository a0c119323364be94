// An HTTP destination: events in batches of capture. They stream through this process, since ClickHouse would send one
// endless body; one batch at a time is in memory.

import type { ForeignAnswer } from "../../../access/post.ts";
import { boundNumbers } from "../../../core/json/bounded_numbers.ts";
import { ExportError } from "../../failure.ts";
import { captureColumns } from "../../source/columns.ts";
import { type ExportWork, rowStream, type Writing } from "../../source/statements.ts";
import { inOrder, toSelection } from "../../source/store.ts";
import { sendBatches } from "../batches.ts";
import { destinationKind } from "../destination.ts";
import { events, readUrlHost, required, type ValuesOf } from "../fields.ts";
import { post, postRepeatedly } from "../post.ts";
import * as rules from "../value.ts";

const fields = {
  url: { ...required, isTarget: true, rule: rules.webAddress(false) },
  token: { ...required, secret: true, rule: rules.ascii },
  /** A limit for receivers that accept no larger body; up to 4. */
  max_batch_size_mb: { kind: "int", otherwise: 4, rule: rules.batchMegabytes },
  ...events,
} as const;

type HttpConfig = ValuesOf<typeof fields>;

export const http = destinationKind({
  fields,
  findHost: readUrlHost("url"),
  columns: captureColumns,
  write,
  probe,
});

/** @returns how many events the destination accepted. */
async function write(work: ExportWork, config: HttpConfig): Promise<number> {
  if (work.source.model !== "events")
    throw new ExportError("HTTP batch exports only support the events model", true);
  const url = new URL(config.url);
  // A total order gives every attempt the same batches.
  const select = inOrder(toSelection(work.source, "lines", work.days).select);
  const chunks = rowStream(work, select, "LineAsString");
  const bytesMax = config.max_batch_size_mb * 2 ** 20;
  const send = async (lines: readonly Uint8Array[]): Promise<void> => sendBatch(work, url, config, lines);
  const checkDestination = () => checkReceiver(work, url, config);
  return await sendBatches(work, chunks, { send, readRefusal, checkDestination, bytesMax });
}

/**
 * A receiver that answers a batch without rows as it answers the rows, and refuses a plain event, too, is wrong, not
 * the rows. The event is the same in every attempt.
 * @throws ExportError
 */
async function checkReceiver(work: ExportWork, url: URL, config: HttpConfig): Promise<void> {
  const { uuid, thrown } = work.refused.named[0]!;
  if ((await postEmpty(work, config)).status !== (thrown as ExportError).status) return;
  const name = "sluice destination test";
  const properties = { $process_person_profile: false };
  const timestamp = new Date(work.source.interval.end).toISOString();
  const plain = { uuid, event: name, distinct_id: name, timestamp, properties };
  await sendBatch(work, url, config, [Buffer.from(JSON.stringify(plain))]).catch(() => {
    throw thrown;
  });
}

function explainRefusal({ host }: URL, { status, text }: ForeignAnswer, final: boolean): ExportError {
  return new ExportError(`${host} answered ${status}${text && `: ${text.trim()}`}`, final, status);
}

/** Statuses of refusals for what is in a batch: some of its rows may be accepted alone. */
const rowRefusals: ReadonlySet<number> = new Set([400, 413, 422]);

function readRefusal(thrown: unknown, line: Uint8Array): { uuid: string; reason: string } | undefined {
  if (!(thrown instanceof ExportError) || !rowRefusals.has(thrown.status ?? 0)) return undefined;
  const { uuid } = JSON.parse(Buffer.from(line).toString()) as { uuid?: unknown };
  return { uuid: String(uuid), reason: `the answer ${thrown.status}` };
}

async function sendBatch(work: ExportWork, url: URL, config: HttpConfig, lines: readonly Uint8Array[]) {
  const body = buildBody(config.token, lines.map(boundNumbers));
  // A key names the same rows in every attempt at the run.
  const digest = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  const key = `${work.tag.split(" ").at(-1)}-${digest}`;
  const headers = { ...contentType, "idempotency-key": key };
  await postRepeatedly(url, body, () => headers, work, explainRefusal);
}

/**
 * Tests the destination with an empty batch: any answer but a refusal of the key or the address is good.
 * @throws ExportError
 */
async function probe(work: Writing, config: HttpConfig): Promise<void> {
  const reply = await postEmpty(work, config);
  const refused = reply.status === 401 || reply.status === 403 || reply.status === 404 || reply.status >= 500;
  const sentOn = reply.status >= 300 && reply.status < 400;
  if (refused || sentOn) throw explainRefusal(new URL(config.url), reply, true);
}

const contentType = { "content-type": "application/json" };

const postEmpty = (work: Writing, { url, token }: HttpConfig): Promise<ForeignAnswer> =>
  post(new URL(url), buildBody(token, []), contentType, work);

/** The body of a batch. It is marked as historical, so that it does not look like a spike. */
function buildBody(token: string, lines: readonly Uint8Array[]): Uint8Array {
  const head = `{"api_key":${JSON.stringify(token)},"historical_migration":true,"batch":[`;
  const members = lines.flatMap((line, i) => (i === 0 ? [line] : [comma, line]));
  return Buffer.concat([Buffer.from(head), ...members, Buffer.from("]}")]);
}

const comma = Buffer.from(",");
