// The last results of insights and dashboards that have a link: computed once for all who open it, in all processes.
// They are computed again when they are fifteen minutes old.

import { bytesIn } from "../core/chunks.ts";
import { sleep } from "../core/clock.ts";
import { unavailable } from "../core/fault.ts";
import { reasonOf } from "../core/log.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { Uses } from "../storage/services.ts";
import { openRecent, SizedCache } from "../work/maps.ts";
import { boardTextOf, readBoard, type SharedBoard, writeBoard, type WrittenBoard } from "./board.ts";
import { sharingLimits } from "./limits.ts";
import { claimResult, getComputedAt, getResult, type SharedLink, storeResult } from "./store.ts";

/** What a link shows now, besides results: each tile is an insight or a text. */
export interface SharedContent {
  name: string;
  description: string;
  tiles: { insight_id: number | null; text: string | null; layouts: object }[];
}

/** What the rooms of insights and dashboards provide. */
export interface BoardReader {
  /** Undefined when the shared thing is deleted. */
  current(link: SharedLink): Promise<SharedContent | undefined>;
  /** @throws when a store cannot be reached. */
  compute(link: SharedLink, content: SharedContent): Promise<SharedBoard>;
}

interface ComputedBoard {
  board: WrittenBoard;
  computed_at: Date;
}

export interface ResultOptions extends Uses<"sql" | "clock" | "log"> {
  metrics: Metrics;
  reader: BoardReader;
}

export interface ShownBoard extends ComputedBoard {
  content: SharedContent;
}

export function openSharedResults(options: ResultOptions) {
  const { clock, reader } = options;
  const read = openComputedBoards(options);
  const { foundAgeMsMax: ageMsMax, foundMax: sizeMax } = sharingLimits;
  // Results that are cached for longer are counted by the memory.
  const recent = openRecent<number, ShownBoard | undefined>(clock, { ageMsMax, sizeMax });
  const readShown = async (link: SharedLink): Promise<ShownBoard | undefined> => {
    const content = await reader.current(link);
    const computed = content && (await read(link, content));
    return computed && content && { ...computed, content };
  };
  return {
    /** Undefined when the shared thing is deleted. All requests within foundAgeMsMax get the same answer. */
    show: (link: SharedLink) => recent(link.id, () => readShown(link)),
  };
}

/**
 * Returns a function that reads a link's results, and computes them when they are too old and no other process does.
 */
function openComputedBoards({ sql, clock, log, metrics, reader }: ResultOptions) {
  const computations = metrics.registry.counter(
    "sluice_link_results_computed_total",
    "Results computed for links to insights and dashboards.",
  );
  /** Results by link, and their bytes. */
  const memory = new SizedCache<"", ComputedBoard>(sharingLimits.memoryBytesMax);
  const remember = (id: number, computed: ComputedBoard): void => {
    const bytes = computed.board.insights.values().reduce((sum, parts) => sum + bytesIn(parts), 0);
    memory.put("", String(id), computed, bytes);
  };
  const load = async (id: number): Promise<ComputedBoard | undefined> => {
    const row = await getResult(sql, id);
    if (!row) return undefined;
    const computed = { board: await readBoard(row.result), computed_at: row.computed_at };
    remember(id, computed);
    return computed;
  };
  const compute = async (link: SharedLink, content: SharedContent): Promise<ComputedBoard> => {
    const computed_at = new Date(clock.now());
    const computed = { board: await writeBoard(await reader.compute(link, content)), computed_at };
    computations.value++;
    await storeResult(sql, link.id, boardTextOf(computed.board), computed_at);
    remember(link.id, computed);
    return computed;
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
          log.warn("the results of a link could not be computed", { reason: reasonOf(thrown) });
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
