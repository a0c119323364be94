// Live streams, one for each open page: figures of the server each second, and new events. They are read once for all
// pages with the same filter, and not at all while no page is open.

import type { Clock } from "../core/clock.ts";
import { Fault } from "../core/fault.ts";
import type { Uses } from "../storage/services.ts";
import { FairShare } from "../work/fair_share.ts";
import { type IntervalTask, startInterval } from "../work/interval.ts";
import type { Figures } from "./figures.ts";
import { consoleLimits } from "./limits.ts";
import type { Followed, NewEvent } from "./store.ts";

export interface StreamOptions extends Uses<"clock" | "log"> {
  figures: () => Promise<Figures>;
  newest: (followed: Followed, since: string) => Promise<NewEvent[]>;
}

/** The key that opens a stream. */
export interface Follower {
  /** Id of the personal key. */
  key_id: string;
  /** Whether it may show figures of the whole server. */
  showsFigures: boolean;
  /** Whether the key, as it is now, may still follow the project. Rejects when that cannot be checked. */
  isAllowed(): Promise<boolean>;
}

export type Streams = ReturnType<typeof openStreams>;

interface Page extends Follower {
  followed: Followed;
  /** Whether it still lacks what the other pages have been sent. */
  isNew: boolean;
  /** Its end, by clock.elapsed(). */
  until: number;
  controller: ReadableStreamDefaultController<Uint8Array>;
}

/** The events that the pages with one filter have been sent. */
interface SentEvents {
  /** The store's last query, by clock.elapsed(), or later where that took long. */
  at: number;
  /** The events that it returned. */
  uuids: Set<string>;
}

export function openStreams({ figures, newest, clock, log }: StreamOptions) {
  const { pages, add, remove, end, refusal, readmit } = openPages();
  const eventSender = openEventSender(newest, clock);
  let ticking: IntervalTask[] = [];
  let closed = false;
  const tick = async (): Promise<void> => {
    const now = clock.elapsed();
    for (const page of pages) if (now > page.until) end(page);
    if (pages.size === 0) return stopTicking();
    const figuresMessage =
      [...pages].some((page) => page.showsFigures) && formatMessage("figures", await figures());
    // A silent connection would be closed as dead.
    for (const page of pages) send(page, (page.showsFigures && figuresMessage) || beat);
    const groups = Map.groupBy(pages, ({ followed }) => JSON.stringify(followed));
    await eventSender.sendNew(groups, now);
  };
  const stopTicking = (): void => {
    for (const item of ticking.splice(0)) void item.close();
    eventSender.forget();
  };
  return {
    /**
     * A new stream as a reply. It ends within 5 s after it is no longer allowed.
     * @throws Fault unavailable when the key, the project or the server has too many already.
     */
    open: (followed: Followed, follower: Follower, abort: AbortSignal) => {
      const refused = closed ? "This server is stopping." : refusal(follower, followed);
      if (refused !== undefined) throw new Fault("unavailable", refused, { retryAfterSeconds: 10 });
      const until = clock.elapsed() + consoleLimits.streamMsMax;
      let page: Page | undefined;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            page = { ...follower, followed, isNew: true, until, controller };
            add(page);
            send(page, formatMessage("open", { figures: follower.showsFigures }));
          },
          cancel: () => void (page && remove(page)),
        },
        new ByteLengthQueuingStrategy({ highWaterMark: consoleLimits.unreadBytesMax }),
      );
      abort.addEventListener("abort", () => page && end(page), { once: true });
      if (ticking.length === 0) {
        ticking = [
          startInterval(consoleLimits.tickMs, "following for the console", tick, log),
          startInterval(consoleLimits.readmitMs, "checking the keys of the console's streams", readmit, log),
        ];
      }
      return new Response(body, { headers: streamHeaders });
    },
    /** Ends all streams; their pages reconnect when a server is available again. */
    close: async () => {
      closed = true;
      for (const page of pages) end(page);
      await Promise.all(ticking.map((item) => item.close()));
    },
  };
}

/** The open pages, and the limits of a key and a project. */
function openPages() {
  const pages = new Set<Page>();
  const pagesOpen = new FairShare(consoleLimits.streamsMax, 1);
  const add = (page: Page): void => {
    pages.add(page);
    pagesOpen.acquire(page.followed.project_id);
  };
  const remove = (page: Page): boolean => {
    if (!pages.delete(page)) return false;
    pagesOpen.leave(page.followed.project_id);
    return true;
  };
  const end = (page: Page): void => {
    if (!remove(page)) return;
    try {
      page.controller.close();
    } catch {
      // The client has closed it already.
    }
  };
  const refusal = ({ key_id }: Follower, { project_id }: Followed): string | undefined => {
    const ofKey = [...pages].filter((page) => page.key_id === key_id).length;
    if (ofKey >= consoleLimits.keyStreamsMax) return "Too many pages follow with this key.";
    if (!pagesOpen.mayTake(project_id)) return "Too many pages follow this server or this project.";
    return undefined;
  };
  /** Ends the pages whose key, or project, no longer allows them. It does not wait for the figures. */
  const readmit = async (): Promise<void> => {
    const checks = [...pages].map(async (page) => (await page.isAllowed()) || end(page));
    const failed = (await Promise.allSettled(checks)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  };
  return { pages, add, remove, end, refusal, readmit };
}

/** Sends new events to the pages: one query serves all pages with the same filter. */
function openEventSender(newest: StreamOptions["newest"], clock: Clock) {
  const sentBy = new Map<string, SentEvents>();
  const sendNew = async (groups: Map<string, Page[]>, now: number): Promise<void> => {
    for (const filterKey of sentBy.keys()) if (!groups.has(filterKey)) sentBy.delete(filterKey);
    for (const [filterKey, pages] of groups) {
      const before = sentBy.get(filterKey);
      if (before && now - before.at < consoleLimits.newestMs) continue;
      // Events become readable in another order than they arrived in, so the last seconds are read repeatedly.
      const since = storedTime(clock.now() - consoleLimits.lateMsMax);
      const began = clock.elapsed();
      const events = await newest(pages[0]!.followed, since);
      const restMs = (clock.elapsed() - began) * consoleLimits.newestRestFactor;
      sentBy.set(filterKey, { at: now + restMs, uuids: new Set(events.map(({ uuid }) => uuid)) });
      const unknown = events.filter(({ uuid }) => !before?.uuids.has(uuid));
      for (const page of pages) {
        const unsent = page.isNew ? events : unknown;
        page.isNew = false;
        if (unsent.length > 0) send(page, formatMessage("events", unsent));
      }
    }
  };
  return { sendNew, forget: () => sentBy.clear() };
}

/** A page with unread messages is skipped: figures are totals, so the next message makes up for it. */
function send({ controller }: Page, message: Uint8Array): void {
  if ((controller.desiredSize ?? 0) > 0) controller.enqueue(message);
}

/** `YYYY-MM-DD hh:mm:ss.mmm` in UTC. */
function storedTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, -1).replace("T", " ");
}

function formatMessage(event: string, data: unknown): Uint8Array {
  return Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

const beat = formatMessage("beat", {});

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Proxies must not buffer messages.
  "x-accel-buffering": "no",
};
