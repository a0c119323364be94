// Objects of a bucket: read and written whole, listed page by page, and tried again where another attempt may succeed.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { BackupBucket, readBucketAddress } from "../../../src/cli/backup/backup_bucket.ts";
import { backupLimits } from "../../../src/cli/backup/limits.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../../support/s3.ts";

afterAll(cleanUp);

let s3: S3Server;
const bucket = "backups";
const { requestPauseMs } = backupLimits;

beforeAll(async () => {
  s3 = await startS3(bucket);
  backupLimits.requestPauseMs = 1;
});
afterAll(() => {
  backupLimits.requestPauseMs = requestPauseMs;
});
beforeEach(() => {
  s3.answer = undefined;
  s3.pageMax = 1000;
  s3.requests.length = 0;
});

function storeAt(prefix: string, changes: Partial<ConstructorParameters<typeof BackupBucket>[1]> = {}) {
  const settings = {
    accessKeyId: s3Key,
    secretAccessKey: s3Secret,
    sessionToken: undefined,
    endpoint: s3.url,
  };
  return new BackupBucket({ bucket, prefix }, { ...settings, region: "us-east-1", ...changes });
}

const bytes = (text: string) => Buffer.from(text);

async function fill(store: BackupBucket, ...paths: string[]): Promise<void> {
  for (const path of paths) await store.put(path, bytes(path));
}

test("an address is a bucket and a prefix of plain names, or wrong; anything else is a folder", () => {
  expect(readBucketAddress("s3://backups")).toEqual({ bucket, prefix: "" });
  expect(readBucketAddress("s3://backups/a/b-c.d_e+f/")).toEqual({ bucket, prefix: "a/b-c.d_e+f" });
  for (const folder of ["backups/monday", "/s3://x", "./s3:", "s3"])
    expect(readBucketAddress(folder)).toBeUndefined();
  for (const wrong of [
    "s3:",
    "s3://",
    "s3:/backups/a",
    "S3://backups/a",
    "s3://Backups/a",
    "s3://b/a",
    "s3://backups//a",
    "s3://backups/a//b",
    "s3://backups/../a",
    "s3://backups/a/.",
    "s3://backups/a?x=1",
    "s3://user@backups/a",
    `s3://backups/${"a".repeat(513)}`,
  ]) {
    expect(() => readBucketAddress(wrong)).toThrow("expected s3://bucket/prefix");
  }
});

test("an object is read as it was written, an empty one too; what does not exist is undefined", async () => {
  const store = storeAt("whole");
  const long = new Uint8Array(3_000_000).map((_, i) => i % 251);
  await store.put("a/x%2Ey z.bin", long);
  await store.put("empty", new Uint8Array());
  expect(Buffer.from((await store.get("a/x%2Ey z.bin", long.length))!).equals(long)).toBe(true);
  expect(await store.get("empty", 0)).toHaveLength(0);
  expect(await store.get("none", 1)).toBeUndefined();
  expect([await store.size("empty"), await store.size("none")]).toEqual([0, undefined]);
  expect(s3.keys(bucket).filter((key) => key.startsWith("whole/"))).toContain("whole/empty");
});

test("bytes that change while they are sent are sent as they were", async () => {
  const store = storeAt("changed");
  const own = new Uint8Array(3_000_000).fill(1);
  s3.answer = () => void own.fill(2);
  await store.put("a", own);
  expect(new Set(s3.read(bucket, "changed/a"))).toEqual(new Set([1]));
});

test("an object that is longer than it may be is not read to its end", async () => {
  const store = storeAt("long");
  await fill(store, "a");
  let sent = 0;
  const endless = () => {
    const pull = (stream: ReadableStreamDefaultController<Uint8Array>) => {
      sent += 65_536;
      stream.enqueue(new Uint8Array(65_536));
    };
    return new Response(new ReadableStream({ pull }));
  };
  s3.answer = (request) => (request.method === "GET" ? endless() : undefined);
  await expect(store.get("a", 1_000_000)).rejects.toThrow("s3://backups/long/a is longer than 1000000 bytes");
  expect(sent).toBeLessThan(50_000_000);
});

test("listings are read page by page, and say what is directly below", async () => {
  const store = storeAt("pages");
  const names = Array.from({ length: 7 }, (_, i) => `name ${i}`);
  await fill(store, "alone", ...names.flatMap((name) => [`${name}/a`, `${name}/b/c`]));
  await fill(storeAt("pages-other"), "x/y");
  s3.pageMax = 2;
  s3.requests.length = 0;
  expect(await Array.fromAsync(store.folders())).toEqual(names);
  expect(s3.requests.length).toBe(4);
  expect(await store.hasAny()).toBe(true);
  expect(await storeAt("page").hasAny()).toBe(false);
});

test("only what is named is removed, page by page", async () => {
  const store = storeAt("removed");
  const data = Array.from({ length: 5 }, (_, i) => `data/${i}`);
  await fill(store, "files", "files.mine", "data", ...data, "database/x", "mine");
  await fill(storeAt("removed-not"), "files");
  s3.pageMax = 2;
  await store.remove(["files", "data"]);
  const left = s3.keys(bucket).filter((key) => key.startsWith("removed"));
  expect(left).toEqual(["removed-not/files", "removed/database/x", "removed/files.mine", "removed/mine"]);
});

test("keys that a listing has from elsewhere are not removed", async () => {
  await fill(storeAt("victim"), "files");
  s3.requests.length = 0;
  const hostile = `<ListBucketResult><IsTruncated>false</IsTruncated>
    <Contents><Key>victim/files</Key></Contents><Contents><Key>files</Key></Contents></ListBucketResult>`;
  s3.answer = ({ url }) => (url.includes("list-type") ? new Response(hostile) : undefined);
  await storeAt("liar").remove(["files"]);
  expect(s3.requests).toEqual([]);
});

test("a listing that does not end is given up", async () => {
  const { listPagesMax } = backupLimits;
  backupLimits.listPagesMax = 5;
  const endless = `<ListBucketResult><IsTruncated>true</IsTruncated>
    <NextContinuationToken>again</NextContinuationToken></ListBucketResult>`;
  s3.answer = () => new Response(endless);
  await expect(storeAt("endless").remove(["files"])).rejects.toThrow("its listing does not end");
  backupLimits.listPagesMax = listPagesMax;
});

test("what fails for a moment is tried again, as often as the limit says", async () => {
  const store = storeAt("again");
  let failures = 2;
  s3.answer = () => (failures-- > 0 ? s3Error(503, "SlowDown") : undefined);
  await fill(store, "a");
  let asked = 0;
  s3.answer = () => {
    asked++;
    return s3Error(500, "InternalError", "we failed");
  };
  await expect(store.get("a", 1)).rejects.toThrow("s3://backups/again/a: InternalError: we failed");
  expect(asked).toBe(backupLimits.requestsMax);
});

test("an object that arrives damaged is read again, and refused when it stays so", async () => {
  const store = storeAt("damaged");
  await fill(store, "a");
  let reads = 0;
  s3.answer = ({ method }) => (method === "GET" && ++reads < 3 ? new Response("b") : undefined);
  const check = (got: Uint8Array) => {
    if (Buffer.from(got).toString() !== "a") throw new Error("it is not a");
  };
  expect(Buffer.from((await store.get("a", 1, check))!).toString()).toBe("a");
  expect(reads).toBe(3);
  s3.answer = () => new Response("b");
  await expect(store.get("a", 1, check)).rejects.toThrow("s3://backups/damaged/a: it is not a");
});

test("a request that gets no answer ends", async () => {
  const { requestMsMax } = backupLimits;
  backupLimits.requestMsMax = 20;
  s3.answer = () => new Promise<undefined>(() => {});
  await expect(storeAt("silent").put("a", bytes("a"))).rejects.toThrow("no answer within 20 ms");
  backupLimits.requestMsMax = requestMsMax;
});

test("what another attempt does not change is one attempt and one line", async () => {
  let asked = 0;
  s3.answer = () => void asked++;
  const wrong = storeAt("refused", { secretAccessKey: "another" });
  await expect(wrong.put("a", bytes("a"))).rejects.toThrow(
    "s3://backups/refused/a: SignatureDoesNotMatch: SignatureDoesNotMatch",
  );
  const nowhere = new BackupBucket(
    { bucket: "nowhere", prefix: "" },
    { accessKeyId: s3Key, secretAccessKey: s3Secret, sessionToken: undefined, endpoint: s3.url, region: "x" },
  );
  await expect(nowhere.put("a", bytes("a"))).rejects.toThrow("s3://nowhere/a: NoSuchBucket");
  expect(asked).toBe(2);
  expect(() => storeAt("none", { accessKeyId: undefined })).toThrow(
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key for the bucket",
  );
});

test("a session token is sent, and the region is what signatures are for", async () => {
  await fill(storeAt("named", { sessionToken: "a token", region: "eu-central-1" }), "a");
  expect(s3.requests.map(({ region, headers }) => [region, headers["x-amz-security-token"]])).toEqual([
    ["eu-central-1", "a token"],
  ]);
});
