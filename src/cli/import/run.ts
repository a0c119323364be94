// One import, from its first file to its last answer. Reading continues while bodies are being sent; in memory are
// these bodies and one chunk. An import that ends early leaves a checkpoint.

import { UserError } from "../../core/fault.ts";
import { hashKey } from "../../core/id.ts";
import { isDictionary } from "../../core/json/dictionary.ts";
import { toReason } from "../../core/log.ts";
import { Bodies, type Body, type BodyLimits } from "./body.ts";
import { Checkpoint } from "./checkpoint.ts";
import { addCounts, type ImportCounts, noCounts, sumCounts } from "./counts.ts";
import { Converter } from "./formats/convert.ts";
import { chooseReader, detectFileKind } from "./formats/detect.ts";
import type { RecordOutcome } from "./formats/record.ts";
import { UuidSource } from "./formats/uuid_source.ts";
import { type ImportOptions, type ImportParts, type Readability, waitUntilReadable } from "./options.ts";
import { Reporter } from "./progress.ts";
import type { FileRecord } from "./reading/file_record.ts";
import { measureFile, openSource, standardInput } from "./reading/source.ts";
import { Sender, Stopped } from "./sender.ts";

export interface ImportEnd {
  counts: ImportCounts;
  /** Why it ended early; undefined when it is complete. */
  failure: string | undefined;
  /** The file from which the import can be resumed. */
  checkpoint: string | undefined;
  /** Whether the events can be read; undefined when that was not awaited. */
  readable: Readability | undefined;
}

/**
 * Runs one import. A failure after the first byte is sent is in the result.
 * @throws UserError for what is wrong before.
 */
export async function runImport(options: ImportOptions, parts: ImportParts): Promise<ImportEnd> {
  const sizes = await Promise.all(options.files.map(measureFile));
  const inputs = await readInputs(options, sizes, parts.bodyLimits);
  const path = options.dryRun ? undefined : options.state;
  const checkpoint = await Checkpoint.open(path, inputs, parts.clock.now());
  const bytesTotal = sizes.includes(undefined)
    ? undefined
    : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const reporter = new Reporter({ ...parts, bytesTotal });
  if (checkpoint.resumed)
    reporter.print(`resuming from ${path}: ${checkpoint.counts.sent} rows were answered before`);
  return await new Import(options, parts, checkpoint, reporter).run();
}

async function readInputs(options: ImportOptions, sizes: (number | undefined)[], limits: BodyLimits) {
  const files = options.files.map(async (path, index) => {
    const size = sizes[index] ?? null;
    if (size === null) return { path, size, head: "" };
    const head = await Bun.file(path)
      .slice(0, 64 * 1024)
      .bytes();
    return { path, size, head: new Bun.CryptoHasher("sha256").update(head).digest("hex") };
  });
  return {
    files: await Promise.all(files),
    host: options.host,
    key: hashKey(options.apiKey),
    format: options.format,
    dates: options.dates,
    bytes_max: limits.bytesMax,
    rows_max: limits.rowsMax,
  };
}

class Import {
  readonly #options: ImportOptions;
  readonly #parts: ImportParts;
  readonly #checkpoint: Checkpoint;
  readonly #reporter: Reporter;
  readonly #bodies: Bodies;
  readonly #identity = new UuidSource();
  readonly #sender: Sender;
  readonly #sending = new Set<Promise<void>>();
  /** The last body of merges: the next one waits for its answer. */
  #merging: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  /** Counts of records that were not sent; the checkpoint has the others. */
  readonly #unsent = noCounts();
  #bytes = 0;
  #records = 0;
  #bodiesCount = 0;
  #failure: unknown;
  #saved = false;

  constructor(options: ImportOptions, parts: ImportParts, checkpoint: Checkpoint, reporter: Reporter) {
    this.#options = options;
    this.#parts = parts;
    this.#checkpoint = checkpoint;
    this.#reporter = reporter;
    this.#bodies = new Bodies(options.apiKey, parts.bodyLimits);
    this.#sender = new Sender({ ...options, ...parts, reporter, stop: this.#stop.signal });
  }

  async run(): Promise<ImportEnd> {
    const { signal } = this.#parts;
    const onSignal = (): void => this.#stop.abort();
    signal.addEventListener("abort", onSignal, { once: true });
    if (signal.aborted) onSignal();
    try {
      await this.#readAll();
    } catch (thrown) {
      this.#fail(thrown);
    }
    await Promise.all(this.#sending);
    await this.#settle();
    this.#reporter.close();
    const readable = await this.#readable();
    signal.removeEventListener("abort", onSignal);
    const counts = noCounts();
    addCounts(counts, this.#checkpoint.counts);
    addCounts(counts, this.#unsent);
    const checkpoint = this.#saved ? this.#checkpoint.path : undefined;
    const reason = this.#failure === undefined ? undefined : toReason(this.#failure);
    const failure = this.#failure instanceof Stopped ? "interrupted" : reason;
    return { counts, failure, checkpoint, readable };
  }

  async #readable(): Promise<Readability | undefined> {
    const { wait, dryRun, host } = this.#options;
    if (!wait || dryRun || this.#failure !== undefined || this.#checkpoint.counts.accepted === 0)
      return undefined;
    return await waitUntilReadable(host, this.#parts, this.#stop.signal);
  }

  async #readAll(): Promise<void> {
    for (let file = 0; file < this.#options.files.length; file++) await this.#readFile(file);
    for (const isOrdered of [false, true]) {
      if (this.#bodies.openBody(isOrdered).rows > 0) await this.#submit(this.#bodies.seal(isOrdered));
    }
    if (!this.#checkpoint.hasBeyond(this.#bodiesCount)) return;
    throw new UserError(
      `the files have changed since ${this.#checkpoint.path} was written; remove it to begin anew`,
    );
  }

  async #readFile(file: number): Promise<void> {
    const path = this.#options.files[file]!;
    const onBytes = (count: number): void => void (this.#bytes += count);
    const source = { onBytes, input: this.#parts.input, stop: this.#stop.signal };
    const { head, whole, rest: opened } = await openSource(path, source);
    await using chunks = opened;
    const name = path === standardInput ? "standard input" : path;
    const kind = detectFileKind(head, whole, this.#options.format, name);
    this.#reporter.print(`${name}: ${kind.dialect === "batch" ? "" : `${kind.dialect}, `}${kind.layout}`);
    const reader = chooseReader(kind);
    const rules = { nowMs: this.#checkpoint.startedAtMs, dates: this.#options.dates };
    const converter = new Converter(kind, this.#identity, rules);
    await this.#append(reader.read(head), converter, file);
    for await (const bytes of chunks) await this.#append(reader.read(bytes), converter, file);
    if (!this.#stop.signal.aborted) await this.#append(reader.end(), converter, file);
  }

  async #append(records: Iterable<FileRecord>, converter: Converter, file: number): Promise<void> {
    for (const record of records) {
      const outcome = converter.convert(record);
      if (outcome === undefined) continue;
      if (outcome.is === "rewritten" && outcome.before !== undefined) {
        const further = { is: "rewritten", text: outcome.before } as const;
        const sealed = this.#appendOne(record, further, converter, file);
        if (sealed !== undefined) await this.#submit(sealed);
      }
      const sealed = this.#appendOne(record, outcome, converter, file);
      if (sealed !== undefined) await this.#submit(sealed);
    }
    if (this.#stop.signal.aborted) throw new Stopped();
    this.#update();
  }

  /** Appends a record to the open body; returns the previous body when that one was full. */
  #appendOne(record: FileRecord, outcome: RecordOutcome, converter: Converter, file: number) {
    this.#records++;
    if (outcome.is === "rejected") {
      this.#unsent.rejected++;
      this.#reporter.reject(this.#options.files[file]!, record.line, outcome.reason);
      return undefined;
    }
    if (outcome.is === "skipped") {
      this.#unsent.skipped[outcome.reason] = (this.#unsent.skipped[outcome.reason] ?? 0) + 1;
      return undefined;
    }
    const length =
      outcome.is === "rewritten" ? Buffer.byteLength(outcome.text) + 34 : record.to - record.from + 82;
    const { isMerge: isOrdered, setsProperties } = findOrdered(outcome, converter.value);
    // Bodies overtake each other: of two changes of one moment the later line counts.
    const rank = this.#checkpoint.startedAtMs * 1000 + this.#records;
    const members = setsProperties ? `"$import_rank":${rank},` : "";
    const sealed = this.#bodies.isFullFor(length, isOrdered) ? this.#bodies.seal(isOrdered) : undefined;
    const body = this.#bodies.openBody(isOrdered);
    if (outcome.is === "rewritten") body.addText(`{${members}${outcome.text.slice(1)}`);
    else {
      const uuid = outcome.uuid === undefined ? "" : `"uuid":"${outcome.uuid}",`;
      body.addBytes(record.source, record.from, record.to, members + uuid);
    }
    body.endRow(file, record.line);
    return sealed;
  }

  /** Starts sending a body, once fewer than `concurrency` are being sent. */
  async #submit(body: Body): Promise<void> {
    this.#bodiesCount++;
    if (this.#checkpoint.has(body)) {
      this.#bodies.release(body);
      return;
    }
    while (this.#sending.size >= this.#options.concurrency) await Promise.race(this.#sending);
    if (this.#stop.signal.aborted) throw new Stopped();
    const delivery: Promise<void> = body.isOrdered
      ? this.#merging.then(() => this.#deliver(body))
      : this.#deliver(body);
    if (body.isOrdered) this.#merging = delivery.catch(() => {});
    const sending: Promise<void> = delivery
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async #deliver(body: Body): Promise<void> {
    const { number, chain } = body;
    const counts = this.#options.dryRun ? { ...noCounts(), sent: body.rows } : await this.#sender.send(body);
    this.#checkpoint.add(number, chain, counts);
    this.#bodies.release(body);
    this.#update();
  }

  #update(): void {
    const { sent } = this.#checkpoint.counts;
    const settled =
      sent + this.#checkpoint.counts.rejected + this.#unsent.rejected + sumCounts(this.#unsent.skipped);
    this.#reporter.update({ bytes: this.#bytes, records: this.#records, sent, settled });
  }

  /** Keeps the first failure, since later ones usually follow from it, and stops the import. */
  #fail(thrown: unknown): void {
    if (this.#failure === undefined || this.#failure instanceof Stopped) this.#failure = thrown;
    this.#stop.abort();
  }

  /** Keeps the checkpoint of a failed import that has sent rows; removes any other. */
  async #settle(): Promise<void> {
    try {
      if (this.#failure !== undefined && this.#checkpoint.counts.sent > 0) await this.#checkpoint.save();
      else await this.#checkpoint.remove();
      this.#saved = this.#failure !== undefined && this.#checkpoint.counts.sent > 0;
    } catch (thrown) {
      this.#failure ??= thrown;
    }
  }
}

/**
 * Whether a row may merge persons, and whether it may change a person or group. A row sent as it is says so by its
 * value; in a rewritten one a text that only names such an event or member counts, too.
 */
function findOrdered(outcome: RecordOutcome, value: Record<string, unknown>) {
  if (outcome.is === "rewritten")
    return { isMerge: mergeText.test(outcome.text), setsProperties: changeText.test(outcome.text) };
  const { event, properties } = value;
  const setsProperties = namesChange(value) || (isDictionary(properties) && namesChange(properties));
  return { isMerge: mergeEvents.has(event), setsProperties };
}

function namesChange(members: Record<string, unknown>): boolean {
  return changeNames.some((name) => members[name] !== undefined);
}

const mergeEvents = new Set<unknown>(["$create_alias", "$identify", "$merge_dangerously"]);
const changeNames = ["$set", "$set_once", "$unset", "$group_set"];
const mergeText = /"\$(?:create_alias|identify|merge_dangerously)"/;
const changeText = /"\$(?:set|unset"|group_set")/;
