// The last results of insights and dashboards that have a link: computed once for all who open it, in all processes.
// They are computed again when they are fifteen minutes old.

import { toBytes } from "../core/bytes.ts";
import { bytesIn } from "../core/chunks.ts";
import { sleep } from "../core/clock.ts";
import { unavailable } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { toReason } from "../core/log.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import { jsonChunks, partsWithin } from "../http/pages/json_parts.ts";
import type { Uses } from "../storage/services.ts";
import { openRecent, SizedCache } from "../work/maps.ts";
import { sharingLimits } from "./limits.ts";
import type { NotShown } from "./model.ts";
import { claimResult, getComputedAt, getResult, type SharedLink, storeResult } from "./store.ts";

/** Content of a link, besides results: each tile is an insight or a text. */
export interface SharedContent {
  name: string;
  description: string;
  tiles: { insight_id: number | null; text: string | null; layouts: object }[];
}

/** Readers that the rooms of insights and dashboards provide. */
export interface BoardReader {
  /** Undefined when the shared thing is deleted. */
  current(link: SharedLink): Promise<SharedContent | undefined>;
  /** @throws when a store cannot be reached. */
  compute(link: SharedLink, content: SharedContent): Promise<SharedBoard>;
}

export interface ResultOptions extends Uses<"sql" | "clock" | "log"> {
  metrics: Metrics;
  reader: BoardReader;
}

export interface ShownBoard {
  board: WrittenBoard;
  computed_at: Date;
  content: SharedContent;
}

type ComputedBoard = Omit<ShownBoard, "content">;

export function openSharedResults(options: ResultOptions) {
  const { clock, reader } = options;
  const read = openComputedBoards(options);
  const { foundAgeMsMax: ageMsMax, foundMax: sizeMax } = sharingLimits;
  // Results that are cached for longer are counted by the memory.
  const recent = openRecent<string, ShownBoard | undefined>(clock, { ageMsMax, sizeMax });
  return {
    /** Undefined when the shared thing is deleted. All requests within foundAgeMsMax get the same answer. */
    show: (link: SharedLink) =>
      recent(JSON.stringify([link.id, link.shown_properties]), async () => {
        const content = await reader.current(link);
        const computed = content && (await read(link, content));
        return computed && content && { ...computed, content };
      }),
  };
}

/** Returns a function that reads a link's results, and computes those too old where no other process does. */
function openComputedBoards({ sql, clock, log, metrics, reader }: ResultOptions) {
  const computations = metrics.registry.counter(
    "sluice_link_results_computed_total",
    "Results computed for links to insights and dashboards.",
  );
  /** Results by link, and their bytes. */
  const memory = new SizedCache<"", ComputedBoard>(sharingLimits.memoryBytesMax);
  const remember = (id: number, computed: ComputedBoard) => {
    const bytes = computed.board.insights.values().reduce((sum, parts) => sum + bytesIn(parts), 0);
    memory.put("", String(id), computed, bytes);
    return computed;
  };
  const load = async (id: number) => {
    const row = await getResult(sql, id);
    return row && remember(id, { board: await readBoard(row.result), computed_at: row.computed_at });
  };
  const compute = async (link: SharedLink, content: SharedContent) => {
    const computed_at = new Date(clock.now());
    const { not_shown = [], ...computed } = await reader.compute(link, content);
    const board = await writeBoard(computed);
    computations.value++;
    await storeResult(sql, link, { result: formatBoard(board), not_shown, computed_at });
    return remember(link.id, { board, computed_at });
  };
  return async (link: SharedLink, content: SharedContent): Promise<ComputedBoard | undefined> => {
    const end = clock.elapsed() + sharingLimits.computedWaitMsMax;
    for (;;) {
      const now = clock.now();
      const since = new Date(now - sharingLimits.resultAgeMsMax);
      const at = await getComputedAt(sql, link.id);
      const cached = memory.find(String(link.id));
      if (at && cached?.computed_at.getTime() === at.getTime() && at > since) return cached;
      if (at && at > since) return await load(link.id);
      const until = new Date(now + sharingLimits.claimMs);
      if (await claimResult(sql, link.id, { now: new Date(now), since, until })) {
        return await compute(link, content).catch(async (thrown: unknown) => {
          log.warn("the results of a link could not be computed", { reason: toReason(thrown) });
          const older = at && (await load(link.id));
          if (older) return older;
          throw thrown;
        });
      }
      // Another process computes them, or it is too early to retry: older results are shown.
      if (at) return await load(link.id);
      if (clock.elapsed() > end) throw unavailable("The results are being computed. Please retry.");
      await sleep(sharingLimits.computedPollMs);
    }
  };
}

/** One insight as a link shows it. */
export interface SharedInsight {
  insight_id: number;
  name: string;
  description: string;
  /** The kind of results; none with an error. */
  type?: string;
  /** A table's, with their types. */
  columns?: readonly (readonly [name: string, type: string])[];
  /** Only those that its chart needs; empty with an error. */
  results: unknown[];
  /** The numbers of its whole time, where its results do not add up to them. */
  totals?: unknown[];
  /** The fields of its query that its chart needs. */
  look?: { display?: string; retentionType?: string };
  error?: string;
}

export interface SharedBoard {
  timezone: string;
  insights: SharedInsight[];
  /** For members only. */
  not_shown?: NotShown[];
}

/** The board as JSON, which is never parsed whole: a link's results may have 8 MiB. */
interface WrittenBoard {
  timezone: string;
  /** Keyed by id: an insight's object without `insight_id` and its first bracket, in chunks. */
  insights: ReadonlyMap<number, readonly Uint8Array[]>;
}

/** If not all results fit, those of the last insights are left out. */
async function writeBoard({ timezone, insights }: SharedBoard): Promise<WrittenBoard> {
  const written = new Map<number, readonly Uint8Array[]>();
  let bytesLeft = sharingLimits.resultBytesMax;
  for (const { insight_id, ...insight } of insights) {
    const parts = await partsWithin(insightTexts(insight), bytesLeft);
    if (parts) bytesLeft -= bytesIn(parts);
    const without = { ...insight, results: [], error: "Its results are too large for a link." };
    written.set(insight_id, parts ?? [toBytes([...insightTexts(without)].join(""))]);
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
function formatBoard({ timezone, insights }: WrittenBoard): string {
  const lines = [...insights].map(([id, parts]) => `${lineHead}${id},${Buffer.concat(parts).toString()}`);
  return `{"timezone":${JSON.stringify(timezone)},"insights":[\n${lines.join(",\n")}\n]}`;
}

async function readBoard(text: string): Promise<WrittenBoard> {
  const [head = "", ...lines] = text.split("\n");
  const { timezone } = JSON.parse(`${head}]}`) as SharedBoard;
  const insights = new Map<number, readonly Uint8Array[]>();
  for (const line of lines) {
    if (!line.startsWith(lineHead)) continue;
    const from = line.indexOf(",", lineHead.length);
    const insightText = line.slice(from + 1, line.endsWith(",") ? -1 : undefined);
    const id = Number(line.slice(lineHead.length, from));
    insights.set(id, (await partsWithin(cutText(insightText), Number.POSITIVE_INFINITY))!);
  }
  return { timezone, insights };
}

const lineHead = '{"insight_id":';

/** Slices that end between characters. */
function* cutText(text: string): Generator<string, undefined> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + limits.replySliceBytes;
    if (text.charCodeAt(end - 1) >> 10 === highSurrogates) end++;
    yield text.slice(at, end);
  }
}

/** The upper six bits of the first half of a surrogate pair. */
const highSurrogates = 0xd800 >> 10;
