// Capture in the test's own process: routes and a journal, without stores. Nothing is flushed, so that what was
// kept can be counted.

import { readdirSync, readFileSync } from "node:fs";
import type { CookielessSetting, ProjectKeys } from "../../src/access/project_keys.ts";
import { CaptureJournal, captureSetup } from "../../src/capture/capture_journal.ts";
import { Salts } from "../../src/capture/cookieless/day.ts";
import { DailyQuotas } from "../../src/capture/daily_quota/daily_quotas.ts";
import type { DailyCountSource } from "../../src/capture/daily_quota/store.ts";
import type { DiskReserve } from "../../src/capture/journal/quota.ts";
import { readSegment } from "../../src/capture/journal/segments/segment_reader.ts";
import type { AnswerOptions } from "../../src/capture/receive/single_event.ts";
import { captureRoutes } from "../../src/capture/route.ts";
import { WarningBook } from "../../src/capture/warnings/warning_book.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { silentLog } from "../../src/core/log.ts";
import type { MemoryBudget } from "../../src/work/bodies/memory_budget.ts";
import { openBodyMemory } from "../../src/work/bodies/memory_budget.ts";
import type { UploadBounds } from "../../src/work/bodies/upload.ts";
import { later } from "./cleanup.ts";
import { noDefinitions } from "./definitions.ts";
import { makeFolder } from "./folder.ts";
import { type NativeRow, readRows } from "./native_rows.ts";

export const key = "phc_only_key";

export interface Desk {
  journal: CaptureJournal;
  book: WarningBook;
  /** What its routes hand to the pipeline. */
  options: AnswerOptions;
  /** received, accepted, ignored, spikes, refused …, and each reason by its name. */
  counts: Record<string, number>;
  send(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  handle(request: Request): Promise<Response>;
  /** Rows in the journal's files, by lane; after everything was written. */
  kept(): Promise<Record<string, number>>;
  /** The live events among them. */
  rows(): NativeRow[];
}

export interface DeskOptions {
  clock?: Clock;
  ack?: "journal" | "memory";
  bodyBytesMax?: number;
  journalBytesMax?: number;
  /** How much the journal may write; by default as much as there is. */
  reserve?: DiskReserve;
  uploadBounds?: UploadBounds;
  memory?: MemoryBudget;
  /** Whether the project wants recordings. */
  records?: boolean;
  /** How it takes events without a cookie, where not as usual. */
  cookieless?: Partial<CookielessSetting>;
  /** Salts of days; by default none are known. */
  salts?: Salts;
  /** The client's address; by default unknown. */
  addressOf?: (request: Request) => string | undefined;
  /** How many events of a day the projects may send; by default any number. */
  quota?: number;
  /** Further projects, by their keys. */
  projects?: Record<string, number>;
  /** The project of a key that is not known yet; by default none. */
  admit?: (key: string) => Promise<number>;
}

export function openDesk(options: DeskOptions = {}): Desk {
  const clock = options.clock ?? systemClock;
  const folder = makeFolder();
  const journal = new CaptureJournal({
    folder,
    number: 1,
    flushIntervalMs: 3_600_000,
    bytesMax: options.journalBytesMax ?? 2 ** 40,
    clock,
    log: silentLog,
    ...(options.reserve && { reserve: options.reserve }),
  });
  journal.open();
  later(async () => {
    await journal.close();
    await journal.release();
  });
  const counts: Record<string, number> = { received: 0, accepted: 0, ignored: 0, refused: 0, spikes: 0 };
  const count = (name: string, more = 1): void => void (counts[name] = (counts[name] ?? 0) + more);
  const spiked = () => count("spikes");
  const book = new WarningBook({ lane: journal.warnings, spiked, clock, log: silentLog });
  const routeOptions: AnswerOptions = {
    journal,
    book,
    groupTypes: { admit: () => true, isForbidden: () => false, assigned: () => [] },
    definitions: noDefinitions,
    salts: options.salts ?? unopenedSalts(clock),
    dailyQuotas: new DailyQuotas({ source: noCounts, clock, log: silentLog }),
    readAddress: options.addressOf ?? (() => undefined),
    keys: {
      ...keys,
      find: (asked) => keys.find(asked) ?? options.projects?.[asked],
      records: () => options.records ?? false,
      cookieless: () => ({ enabled: true, timezone: "UTC", ...options.cookieless }),
      dailyEventQuota: () => options.quota ?? Number.POSITIVE_INFINITY,
      ...(options.admit && { admit: options.admit }),
    },
    clock,
    ack: options.ack ?? "journal",
    bodyBytesMax: options.bodyBytesMax ?? 1 << 20,
    memory: options.memory ?? openBodyMemory(options.bodyBytesMax ?? 1 << 20, 1),
    recordingRetentionDays: 90,
    ...(options.uploadBounds && { uploadBounds: options.uploadBounds }),
    counts: {
      received: (events) => count("received", events),
      accepted: (_lane, events) => count("accepted", events),
      ignored: (reason, events) => {
        count("ignored", events);
        count(reason, events);
      },
      warned: (warning, events) => count(warning, events),
    },
    refused: () => count("refused"),
    failed: (thrown) => new Response(String(thrown), { status: 500 }),
    observeSeconds: () => {},
  };
  const app = captureRoutes(routeOptions);
  const handle = async (request: Request): Promise<Response> => await app.handle(request);
  const send = (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const plain = typeof body === "string" || body instanceof Uint8Array;
    const sent = body === undefined ? null : plain ? (body as string) : JSON.stringify(body);
    const method = sent === null ? "GET" : "POST";
    return handle(new Request(`http://localhost${path}`, { method, headers, body: sent }));
  };
  const kept = async () => {
    await Promise.all(
      [journal.live, journal.historical, journal.warnings, journal.recordings].map((lane) => lane.seal()),
    );
    const rows: Record<string, number> = { live: 0, historical: 0, warnings: 0 };
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".segment"))) {
      const { segment } = readSegment(captureSetup, `${folder}/${name}`)!;
      rows[segment.lane.name] = (rows[segment.lane.name] ?? 0) + segment.rows;
    }
    return rows;
  };
  const rows = () =>
    readdirSync(folder)
      .filter((file) => file.startsWith("live") && file.endsWith(".segment"))
      // In the order they were begun in: a folder has none.
      .toSorted()
      .flatMap((file) => {
        const bytes = readFileSync(`${folder}/${file}`);
        const frames = readSegment(captureSetup, `${folder}/${file}`)!.segment.batches.flatMap(
          (batch) => batch.frames,
        );
        return frames.flatMap(({ offset, length }) => readRows(bytes.subarray(offset, offset + length)));
      });
  return { journal, book, options: routeOptions, counts, send, handle, kept, rows };
}

/** Counts of daily quotas where there is no other process. */
export const noCounts: DailyCountSource = {
  write: () => Promise.resolve(),
  readOthers: () => Promise.resolve([]),
};

const keys: Omit<ProjectKeys, "records" | "cookieless" | "dailyEventQuota"> = {
  recordsConsole: () => false,
  find: (asked) => (asked === key ? 7 : undefined),
  admit: () => Promise.reject(new Fault("invalid_api_key", "No project has this key.")),
  close: () => Promise.resolve(),
};

/** Nothing was ever read. */
export function unopenedSalts(clock: Clock): Salts {
  const source = { replace: () => Promise.reject(new Error("Postgres is unavailable")) };
  return new Salts({ source, clock, log: silentLog });
}
