// A prefix in a bucket of an S3-compatible store. Objects are read and written whole, each in one request, so that no
// upload is ever incomplete, and a failed one is repeated.

import { setTimeout } from "node:timers/promises";
import { withinMs } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { toCode, toReason } from "../../core/log.ts";
import { backupLimits } from "./limits.ts";

export interface BucketAccess {
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
  sessionToken: string | undefined;
  region: string;
  /** Undefined: Amazon's, in the region. */
  endpoint: string | undefined;
}

/** `s3://bucket/prefix`. */
export interface BucketAddress {
  bucket: string;
  /** Without a `/` at either end; empty: the whole bucket. */
  prefix: string;
}

const addressShape = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.+/-]{1,512}))?$/;

/** @returns undefined for a folder. @throws UserError (exit 2) for an invalid address. */
export function readBucketAddress(text: string): BucketAddress | undefined {
  if (!/^s3:/i.test(text)) return undefined;
  const [, bucket, path = ""] = addressShape.exec(text) ?? [];
  const prefix = path.replace(/\/$/, "");
  const isPlain = prefix === "" || prefix.split("/").every((name) => !["", ".", ".."].includes(name));
  if (bucket !== undefined && isPlain) return { bucket, prefix };
  throw new UserError(`expected s3://bucket/prefix of letters, digits and _ . + -, got "${text}"`, 2);
}

export class BackupBucket {
  /** The address as text. */
  readonly name: string;
  readonly #client: Bun.S3Client;
  readonly #prefix: string;
  readonly #settings: BucketAccess;
  readonly #bucket: string;

  /** @throws UserError when there is no key to sign with. */
  constructor({ bucket, prefix }: BucketAddress, settings: BucketAccess) {
    const { accessKeyId, secretAccessKey, sessionToken, region, endpoint } = settings;
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw new UserError("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key for the bucket");
    this.name = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    [this.#bucket, this.#settings] = [bucket, settings];
    this.#client = new Bun.S3Client({
      accessKeyId,
      secretAccessKey,
      bucket,
      region,
      ...(sessionToken !== undefined && { sessionToken }),
      ...(endpoint !== undefined && { endpoint }),
    });
  }

  /** The bucket at a path below this prefix; this one for an empty path. */
  below(path: string): BackupBucket {
    if (path === "") return this;
    return new BackupBucket({ bucket: this.#bucket, prefix: this.#prefix + path }, this.#settings);
  }

  /** The bucket at a name directly above this prefix's last one; at its whole prefix for an empty name. */
  beside(name: string): BackupBucket {
    const names = [...this.#prefix.split("/").slice(0, -2), name].filter((text) => text !== "");
    return new BackupBucket({ bucket: this.#bucket, prefix: names.join("/") }, this.#settings);
  }

  /** The caller may reuse the bytes once it has resolved: even a request without an answer has its own copy. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const key = this.#prefix + path;
    await this.#retried(key, () =>
      this.#client.write(key, bytes, { type: "application/octet-stream", retry: 0 }),
    );
  }

  /**
   * The object's bytes; undefined when there is none.
   * @param check throws when they are wrong: then they are read again, since a transfer may have ended early.
   * @throws UserError when there are more bytes than `bytesMax`.
   */
  async get(path: string, bytesMax: number, check: (bytes: Uint8Array) => void = () => {}) {
    const key = this.#prefix + path;
    return await this.#retried(key, async () => {
      const bytes = await this.#read(key, bytesMax).catch((thrown: unknown) => {
        if (toCode(thrown) === "NoSuchKey") return undefined;
        throw thrown;
      });
      if (bytes) check(bytes);
      return bytes;
    });
  }

  async #read(key: string, bytesMax: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#client.file(key).stream()) {
      length += chunk.length;
      if (length > bytesMax) throw new UserError(`${this.#named(key)} is longer than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
  }

  /** The object's bytes; undefined when there is none. */
  async size(path: string): Promise<number | undefined> {
    const key = this.#prefix + path;
    return await this.#retried(key, async () => {
      try {
        return await this.#client.size(key);
      } catch (thrown) {
        if (toCode(thrown) === "NoSuchKey") return undefined;
        throw thrown;
      }
    });
  }

  async delete(path: string): Promise<void> {
    const key = this.#prefix + path;
    await this.#retried(key, () => this.#client.delete(key));
  }

  /** Whether there are objects below the prefix. */
  async hasAny(): Promise<boolean> {
    const { contents = [] } = await this.#list({ prefix: this.#prefix, maxKeys: 1 });
    return contents.length > 0;
  }

  /** The names directly below that end with a `/`, without it. */
  async *folders(): AsyncGenerator<string> {
    for await (const { commonPrefixes = [] } of this.#pages({ prefix: this.#prefix, delimiter: "/" })) {
      for (const { prefix } of commonPrefixes) {
        if (prefix.startsWith(this.#prefix)) yield prefix.slice(this.#prefix.length, -1);
      }
    }
  }

  /** The paths of all objects below that begin with `start`: a page of a thousand in each request. */
  async *paths(start = ""): AsyncGenerator<string> {
    for await (const { contents = [] } of this.#pages({ prefix: this.#prefix + start }))
      for (const { key } of contents) if (key.startsWith(this.#prefix)) yield key.slice(this.#prefix.length);
  }

  /** Removes the objects below whose first name is one of these. */
  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      for await (const path of this.paths(name)) {
        // Names that begin with this one have its prefix, too.
        if (path.split("/")[0] === name) await this.delete(path);
      }
    }
  }

  async *#pages(options: Bun.S3ListObjectsOptions): AsyncGenerator<Bun.S3ListObjectsResponse> {
    let continuationToken: string | undefined;
    for (let page = 0; page < backupLimits.listPagesMax; page++) {
      const found = await this.#list({ ...options, ...(continuationToken && { continuationToken }) });
      yield found;
      if (!found.isTruncated) return;
      continuationToken = found.nextContinuationToken;
    }
    throw new UserError(`${this.name} has more objects than a backup, or its listing does not end`);
  }

  async #list(options: Bun.S3ListObjectsOptions): Promise<Bun.S3ListObjectsResponse> {
    return await this.#retried(this.#prefix, () => this.#client.list(options));
  }

  /** @throws UserError that names the object, after some attempts if another one may succeed. */
  async #retried<T>(key: string, request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await withinMs(request(), backupLimits.requestMsMax);
      } catch (thrown) {
        if (thrown instanceof UserError) throw thrown;
        const code = toCode(thrown);
        if (lasting.test(code) || attempt === backupLimits.requestsMax)
          throw new UserError(`${this.#named(key)}: ${code === "" ? "" : `${code}: `}${toReason(thrown)}`);
        await setTimeout(backupLimits.requestPauseMs * 2 ** (attempt - 1));
      }
    }
  }

  #named(key: string): string {
    return `s3://${this.#bucket}/${key}`;
  }
}

/** Errors that a retry cannot avoid. */
const lasting =
  /^(NoSuch|Access|Invalid|Signature|AuthorizationHeader|Expired|PermanentRedirect|NotImplemented|ERR_S3)/;
