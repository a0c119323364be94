// Bugs that are planted in a simulated server, which the simulation must find: what it is handed does less than it says,
// or a step of it is left out.

import { BatchInserter } from "../../../src/capture/flush/batch_inserter.ts";
import { BatchSender } from "../../../src/capture/flush/batch_sender.ts";
import { SessionDeriver } from "../../../src/capture/flush/session_deriver.ts";
import { Journal } from "../../../src/capture/journal/journal.ts";
import type { JournalFile, JournalIo } from "../../../src/capture/journal/journal_io.ts";
import { Lane } from "../../../src/capture/journal/lane.ts";
import { segmentId } from "../../../src/capture/journal/segments/segment.ts";
import { sleep } from "../../../src/core/clock.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import type { Plan } from "./plan.ts";
import { folders } from "./simulated_io.ts";

/** What a life of the server is handed, to be changed. */
export interface Handed {
  io: JournalIo;
  clickhouse: ClickHouse;
  /** The journal of this life, once it is open. */
  journal(): Journal;
  now(): number;
}

export interface PlantedBug {
  plant(handed: Handed): void;
  /** What a seed must play for it to be found; without it few seeds find it. */
  plan?: Partial<Plan>;
}

const isSegment = (path: string) => path.endsWith(".segment");

/** Changes the files that are opened from now on. */
function changeFiles(io: JournalIo, change: (file: JournalFile, path: string) => Partial<JournalFile>): void {
  const open = io.open.bind(io);
  io.open = async (path, flags) => {
    const file = await open(path, flags);
    return Object.assign(file, change(file, path));
  };
}

function leaveSyncOut(io: JournalIo, isMeant: (path: string) => boolean): void {
  const sync = io.sync.bind(io);
  io.sync = (path) => {
    if (!isMeant(path)) sync(path);
  };
}

export const plants: Record<string, PlantedBug> = {
  "sync left out": {
    plant: ({ io }) => changeFiles(io, () => ({ datasync: () => Promise.resolve() })),
  },
  "name not synced": {
    plant: ({ io }) =>
      changeFiles(io, (_, path) => (path === folders.journal ? { sync: () => Promise.resolve() } : {})),
  },
  "ledger before insert": {
    plant: ({ journal }) => {
      const { insert } = originals;
      BatchInserter.prototype.insert = async function insertLate(segment) {
        await journal().finish(segment);
        return await insert.call(this, segment);
      };
      SessionDeriver.prototype.add = () => {};
    },
  },
  "read-back that counts": {
    plant: ({ clickhouse }) => {
      const { query } = clickhouse;
      clickhouse.query = async (text, params, ...more) => {
        const found = await query.call(clickhouse, text, params, ...more);
        const batches = params!["batches"] as bigint[];
        return batches.slice(0, found.length).map((batch) => ({ batch: String(batch) })) as never;
      };
    },
  },
  "no read-back": {
    plant: ({ clickhouse }) => void (clickhouse.query = () => Promise.resolve([])),
  },
  "no read-back after a start": {
    plant: () => {
      BatchInserter.prototype.insert = function insertBlindly(segment) {
        return originals.insert.call(this, { ...segment, isRecovered: false });
      };
    },
  },
  "a sync that is not waited for": {
    plant: ({ io }) =>
      changeFiles(io, (file, path) => {
        const datasync = file.datasync.bind(file);
        if (!isSegment(path)) return {};
        return { datasync: () => (void datasync().catch(() => {}), Promise.resolve()) };
      }),
  },
  "numbers of halves forgotten": {
    plan: { poisons: 0.3, clockGoesBack: true, lives: 5 },
    plant: () => {
      Journal.prototype.lastingId = function forgottenId() {
        return Promise.resolve(this.nextId());
      };
    },
  },
  "numbers that go back": {
    plant: ({ now }) => {
      Journal.prototype.nextId = function idByClock() {
        return segmentId(now(), this.number);
      };
    },
  },
  "sessions before their time": {
    plant: ({ journal }) => {
      SessionDeriver.prototype.add = (segment) => void journal().finish(segment);
    },
  },
  "ledger that goes on behind a torn line": {
    plant: ({ io }) =>
      changeFiles(io, (file, path) => {
        const write = file.write.bind(file);
        if (path !== `${folders.journal}/ledger`) return {};
        return { write: async (bytes) => (await write(bytes), { bytesWritten: bytes.length }) };
      }),
  },
  "what a kill left is not synced": {
    plant: ({ io }) => leaveSyncOut(io, isSegment),
  },
  "file removed before its note lasts": {
    plan: { powerShare: 0.5, lives: 5, engineGoesWrong: 0, flushIntervalMs: 20, clients: 5 },
    plant: ({ io }) => {
      const ledger = `${folders.journal}/ledger`;
      leaveSyncOut(io, (path) => path === ledger);
      // A kill must come between a note and its sync, for which a quick disk leaves hardly any time.
      changeFiles(io, (file, path) => {
        const datasync = file.datasync.bind(file);
        return path === ledger ? { datasync: () => sleep(50).then(datasync) } : {};
      });
    },
  },
  "not derived again": {
    plant: ({ clickhouse }) => {
      const { command } = clickhouse;
      clickhouse.command = async (text, ...more) => {
        if (text.includes("INTO session_facts")) await command.call(clickhouse, text, ...more);
      };
    },
  },
  "a segment finished without its days": {
    plant: () => {
      const send = originals.sendFirstColumns;
      BatchSender.prototype.sendFirstColumns = function withoutLast(this: BatchSender, segments, ...more) {
        return send.call(this, segments.slice(0, -1), ...more);
      };
    },
  },
  "watermark without the group": {
    plant: () => {
      const oldest = Object.getOwnPropertyDescriptor(Lane.prototype, "oldest")!.get!;
      const get = function oldestOpen(this: Lane<never>) {
        return this.writingRows > 0 ? undefined : (oldest.call(this) as number | undefined);
      };
      Object.defineProperty(Lane.prototype, "oldest", { get });
    },
  },
};

const originals = {
  insert: BatchInserter.prototype.insert,
  sendFirstColumns: BatchSender.prototype.sendFirstColumns,
};
