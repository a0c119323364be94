// The results of a link, as they are computed, and as JSON in memory, in Postgres and in replies.

import { bytesOf } from "../core/bytes.ts";
import { bytesIn } from "../core/chunks.ts";
import { limits } from "../core/limits.ts";
import { jsonChunks, partsWithin } from "../http/pages/json_parts.ts";
import { sharingLimits } from "./limits.ts";

/** One insight as a link shows it. */
export interface SharedInsight {
  insight_id: number;
  name: string;
  description: string;
  /** Which kind of results they are; none with an error. */
  type?: string;
  /** Only those that its chart needs; empty with an error. */
  results: unknown[];
  /** The fields of its query that its chart needs. */
  look?: { display?: string; retentionType?: string };
  error?: string;
}

export interface SharedBoard {
  timezone: string;
  insights: SharedInsight[];
}

/** The board as JSON, which is never parsed whole: a link's results may have 8 MiB. */
export interface WrittenBoard {
  timezone: string;
  /** By id: an insight's object without `insight_id` and its first bracket, in chunks. */
  insights: ReadonlyMap<number, readonly Uint8Array[]>;
}

/** Where not all results fit, those of the last insights are left out. */
export async function writeBoard({ timezone, insights }: SharedBoard): Promise<WrittenBoard> {
  const written = new Map<number, readonly Uint8Array[]>();
  let left = sharingLimits.resultBytesMax;
  for (const { insight_id, ...insight } of insights) {
    const parts = await partsWithin(insightTexts(insight), left);
    if (parts) left -= bytesIn(parts);
    const without = { ...insight, results: [], error: "Its results are too large for a link." };
    written.set(insight_id, parts ?? [bytesOf([...insightTexts(without)].join(""))]);
  }
  return { timezone, insights: written };
}

/** Levels of nesting below an insight at which numbers are: results, line. */
const rowsBelow = 3;

function insightTexts(insight: Omit<SharedInsight, "insight_id">) {
  return Iterator.from(jsonChunks(insight, rowsBelow)).map((text, i) => (i === 0 ? text.slice(1) : text));
}

/**
 * The board as JSON with a line for each insight: the text is stored so, and read line by line. Servers of earlier
 * versions on the same stores parse it whole.
 */
export function boardTextOf({ timezone, insights }: WrittenBoard): string {
  const lines = [...insights].map(
    ([insight_id, parts]) => `${lineHead}${insight_id},${Buffer.concat(parts).toString()}`,
  );
  return `{"timezone":${JSON.stringify(timezone)},"insights":[\n${lines.join(",\n")}\n]}`;
}

export async function readBoard(text: string): Promise<WrittenBoard> {
  const [head = "", ...lines] = text.split("\n");
  // It was written by a server of an earlier version.
  if (lines.length === 0) return await writeBoard(JSON.parse(text) as SharedBoard);
  const { timezone } = JSON.parse(`${head}]}`) as SharedBoard;
  const insights = new Map<number, readonly Uint8Array[]>();
  for (const line of lines) {
    if (!line.startsWith(lineHead)) continue;
    const from = line.indexOf(",", lineHead.length);
    const rest = line.slice(from + 1, line.endsWith(",") ? -1 : undefined);
    const id = Number(line.slice(lineHead.length, from));
    insights.set(id, (await partsWithin(slicesOfText(rest), Number.POSITIVE_INFINITY))!);
  }
  return { timezone, insights };
}

const lineHead = '{"insight_id":';

/** Slices that end between characters. */
function* slicesOfText(text: string): Generator<string, undefined> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + limits.replySliceBytes;
    if (text.charCodeAt(end - 1) >> 10 === highSurrogates) end++;
    yield text.slice(at, end);
  }
}

/** The upper six bits of the first half of a surrogate pair. */
const highSurrogates = 0xd800 >> 10;
