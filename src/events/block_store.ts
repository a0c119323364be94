// Reads a page of events with long properties: keys and sizes first, so that too large a page is refused before the
// reply begins; then properties, block by block.

import { checkFits, cutBlocks } from "../http/pages/page.ts";
import { filteredOptions, type ProjectReads, withSettings } from "../storage/clickhouse/query_options.ts";
import {
  type EventKey,
  keyColumns,
  keyParams,
  propertiesIn,
  propertiesSettings,
  propertiesText,
  sizesText,
} from "../storage/events/stored_properties.ts";
import { primed } from "../work/slices.ts";

/** The FROM clause and its parameters that select the events of a page. */
export interface PageQuery {
  from: string;
  params: Record<string, unknown>;
}

/**
 * SQL expressions for an event's JSON in a reply: the text before its properties, and the text after them. ClickHouse
 * writes it, since parsing and writing a thousand events here would delay capture. `properties` stay the client's
 * text: parsing would round long numbers and drop repeated keys.
 */
const eventHead = `concat(
  ',{"id":"', toString(uuid), '","uuid":"', toString(uuid),
  '","event":', toJSONString(event), ',"distinct_id":', toJSONString(distinct_id), ',"properties":')`;

const eventTail = `concat(
  ',"timestamp":"', ${isoText("timestamp")}, '","created_at":"', ${isoText("created_at")},
  '","person_id":"', toString(person_id), '","historical_migration":', toString(historical_migration), '}')`;

export const eventText = `concat(${eventHead}, if(properties = '', '{}', properties), ${eventTail})`;

/** `2024-01-02T03:04:05.600000Z`; a zero fraction is left out. */
function isoText(moment: string): string {
  return `concat(replaceOne(replaceOne(toString(${moment}), '.000000', ''), ' ', 'T'), 'Z')`;
}

/** JSON as clients expect it: with plain slashes. */
export const plainSlashes = { output_format_json_escape_forward_slashes: 0 };

interface KeyedEvent extends EventKey {
  /** The event's JSON before and after its properties; `head` begins with a comma. */
  head: string;
  tail: string;
}

/**
 * The page's events in blocks. The first block is read before this resolves. An event deleted meanwhile is left out.
 * @throws Fault with attr `limit` when the properties exceed httpLimits.pageBytesMax.
 */
export async function blockedEvents(reads: ProjectReads, query: PageQuery) {
  const { clickhouse, project_id } = reads;
  return await primed(clickhouse.longReads.withPermit(project_id, () => readEvents(reads, query)));
}

async function* readEvents(
  reads: ProjectReads,
  { from, params }: PageQuery,
): AsyncGenerator<Uint8Array, void> {
  const events = await reads.query<KeyedEvent>(
    `SELECT ${keyColumns}, ${eventHead} AS head, ${eventTail} AS tail ${from}`,
    params,
    withSettings(plainSlashes, filteredOptions),
  );
  const sizes = await readSizes(reads, events);
  checkFits([...sizes.values()]);
  const blocks = cutBlocks(events, (item) => sizes.get(item)!);
  yield* readBlocks(reads, blocks);
}

/** Bytes of each event in the reply, in the same order. */
async function readSizes(reads: ProjectReads, events: readonly KeyedEvent[]) {
  const keys = keyParams(reads.project_id, events);
  const sizes = await reads.query<{ uuid: string; bytes: string }>(sizesText, keys);
  const byUuid = new Map(sizes.map(({ uuid, bytes }) => [uuid, Number(bytes)]));
  const addedBytes = ({ head, tail, uuid }: KeyedEvent) =>
    head.length + tail.length + (byUuid.get(uuid) ?? 0);
  return new Map(events.map((event) => [event, addedBytes(event)]));
}

async function* readBlocks(
  { clickhouse, project_id }: ProjectReads,
  blocks: readonly KeyedEvent[][],
): AsyncGenerator<Uint8Array, void> {
  const options = withSettings(propertiesSettings);
  for (const block of blocks) {
    const params = keyParams(project_id, block);
    const answer = await clickhouse.bytes(`${propertiesText} FORMAT RowBinary`, params, options);
    const found = propertiesIn(answer);
    for (const { uuid, head, tail } of block) {
      const properties = found.get(uuid);
      if (!properties) continue;
      const members = properties.length > 0 ? properties : noProperties;
      yield Buffer.concat([Buffer.from(head), members, Buffer.from(tail)]);
    }
  }
}

const noProperties = Buffer.from("{}");
