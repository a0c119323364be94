// A page of events whose properties are long: keys and sizes first, so that what is too much is refused before
// the reply begins, then the properties block by block, whatever the page's limit is.

import { blocksOf, checkFits } from "../http/pages/page.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import {
  type EventKey,
  keyColumns,
  keyParams,
  propertiesIn,
  propertiesSettings,
  propertiesText,
  sizesText,
} from "../storage/events/stored_properties.ts";
import { eventHead, eventTail, type PageQuestion, eventQueryOptions } from "./page_store.ts";

interface KeyedEvent extends EventKey {
  /** Its JSON before its properties, with a comma, and behind them. */
  head: string;
  tail: string;
}

/**
 * The first block is read before this resolves. An event that is deleted while the page is sent is left out.
 * @throws Fault with `limit` as its attr where the properties are longer than limits.pageBytesMax.
 */
export async function blockedEvents(
  clickhouse: ClickHouse,
  project_id: number,
  { from, params }: PageQuestion,
): Promise<AsyncGenerator<Uint8Array, void>> {
  const events = await clickhouse.query<KeyedEvent>(
    `SELECT ${keyColumns}, ${eventHead} AS head, ${eventTail} AS tail ${from}`,
    params,
    {
      ...eventQueryOptions,
      settings: { ...eventQueryOptions.settings, output_format_json_escape_forward_slashes: 0 },
    },
  );
  const sizes = await sizesOf(clickhouse, project_id, events);
  checkFits([...sizes.values()]);
  const blocks = blocksOf(events, (one) => sizes.get(one)!);
  const pieces = readBlocks(clickhouse, project_id, blocks);
  const first = await pieces.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* pieces;
  })();
}

/** What each event takes in the reply, in that order. */
async function sizesOf(
  clickhouse: ClickHouse,
  project_id: number,
  events: readonly KeyedEvent[],
): Promise<Map<KeyedEvent, number>> {
  const sizes = await clickhouse.query<{ uuid: string; bytes: string }>(
    sizesText,
    keyParams(project_id, events),
    eventQueryOptions,
  );
  const bytesOf = new Map(sizes.map(({ uuid, bytes }) => [uuid, Number(bytes)]));
  return new Map(
    events.map((one) => [one, one.head.length + one.tail.length + (bytesOf.get(one.uuid) ?? 0)]),
  );
}

async function* readBlocks(
  clickhouse: ClickHouse,
  project_id: number,
  blocks: readonly KeyedEvent[][],
): AsyncGenerator<Uint8Array, void> {
  const settings = { ...eventQueryOptions.settings, ...propertiesSettings };
  for (const block of blocks) {
    const answer = await clickhouse.bytes(
      `${propertiesText} FORMAT RowBinary`,
      keyParams(project_id, block),
      {
        ...eventQueryOptions,
        settings,
      },
    );
    const found = propertiesIn(answer);
    for (const { uuid, head, tail } of block) {
      const properties = found.get(uuid);
      if (!properties) continue;
      yield Buffer.concat([
        Buffer.from(head),
        properties.length > 0 ? properties : noProperties,
        Buffer.from(tail),
      ]);
    }
  }
}

const noProperties = Buffer.from("{}");
