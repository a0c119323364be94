// Bugs to be planted in the server's text, which the simulation must find.

export interface Plant {
  /** Below src. */
  file: string;
  /** Found once in it. */
  text: string;
  instead: string;
}

export interface PlantedBug {
  changes: Plant[];
  /** Few seeds find it: where the search may begin. */
  from?: number;
}

export const plants: Record<string, PlantedBug> = {
  "sync left out": {
    changes: [
      {
        file: "capture/journal/segments/segment_writer.ts",
        text: "    await file.datasync();\n",
        instead: "",
      },
    ],
  },
  "name not synced": {
    changes: [
      { file: "capture/journal/segments/segment_writer.ts", text: "    await this.#named;\n", instead: "" },
      {
        file: "capture/journal/segments/segment_files.ts",
        text: "const named = syncFolder(folder);",
        instead: "const named = Promise.resolve();",
      },
    ],
  },
  "ledger before insert": {
    changes: [
      {
        file: "capture/flush/flush.ts",
        text: "      const batches = await inserter.ship(segment);\n",
        instead:
          "      await journal.finish(segment);\n      const batches = await inserter.ship(segment);\n",
      },
      {
        file: "capture/flush/flush.ts",
        text: "return this.#sessions.add(segment, batches);",
        instead: "return;",
      },
    ],
  },
  "read-back that counts": {
    changes: [
      {
        file: "capture/flush/batch_inserter.ts",
        text: "const missing = batches.filter(({ id }) => !there.has(id));",
        instead: "const missing = batches.slice(there.size);",
      },
    ],
  },
  "no read-back": {
    changes: [{ file: "capture/flush/batch_inserter.ts", text: "      doubt = true;\n", instead: "" }],
  },
  "no read-back after a start": {
    changes: [
      {
        file: "capture/flush/batch_inserter.ts",
        text: "batches, segment.recovered, send",
        instead: "batches, false, send",
      },
    ],
  },
  "marks before the sync": {
    changes: [
      {
        file: "capture/journal/segments/segment_writer.ts",
        text: "    await file.datasync();\n",
        instead:
          "    this.#options.onSynced({ ...segment, bytes: segment.bytes + out.total, rows: before });\n    await file.datasync();\n",
      },
    ],
  },
  "numbers of halves forgotten": {
    from: 22_700,
    changes: [
      {
        file: "capture/flush/flush.ts",
        text: "journal.lastingId()",
        instead: "Promise.resolve(journal.nextId())",
      },
    ],
  },
  "numbers that go back": {
    changes: [
      {
        file: "capture/journal/journal.ts",
        text: "this.#lastMillis = Math.max(this.#lastMillis + 1, this.#options.clock.now());",
        instead: "this.#lastMillis = this.#options.clock.now();",
      },
    ],
  },
  "sessions before their time": {
    changes: [
      {
        file: "capture/flush/flush.ts",
        text: "return this.#sessions.add(segment, batches);",
        instead: "return journal.finish(segment);",
      },
    ],
  },
  "ledger that goes on behind a torn line": {
    changes: [
      {
        file: "capture/journal/ledger.ts",
        text: "if (this.#isTorn || this.#bytes > ledgerBytesMax)",
        instead: "if (this.#bytes > ledgerBytesMax)",
      },
      {
        file: "capture/journal/ledger.ts",
        text: "rest = rest.subarray((await this.#file.write(rest)).bytesWritten);",
        instead: "rest = rest.subarray((await this.#file.write(rest)).bytesWritten, 0);",
      },
    ],
  },
  "what a kill left is not synced": {
    changes: [
      {
        file: "capture/journal/recovery/recovery.ts",
        text: "for (const { path } of this.segments) syncFileNow(path);",
        instead: "",
      },
    ],
  },
  "file removed before its note lasts": {
    from: 10_200,
    changes: [
      {
        file: "capture/journal/recovery/recovery.ts",
        text: "if (noted.finished.length > 0) syncFileNow(`${folder}/ledger`);",
        instead: "",
      },
    ],
  },
  "not derived again": {
    changes: [
      {
        file: "capture/flush/batch_inserter.ts",
        text: "if (there.size > 0) await deriveAgain(",
        instead: "if (there.size < 0) await deriveAgain(",
      },
    ],
  },
  "watermark without the group": {
    changes: [
      {
        file: "capture/journal/lane.ts",
        text: "for (const block of [...(this.#writing?.blocks ?? []), ...this.#open.values()]) {",
        instead: "for (const block of [...this.#open.values()]) {",
      },
    ],
  },
};
