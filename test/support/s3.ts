// An S3 server on the loopback device that checks signatures: s3rver stores, and in front of it every request's SigV4
// signature is computed again, and keys are listed in pages, in their order. Can be told to refuse, to stall and to fail.

import { createHash, createHmac } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";

export const s3Key = "AKIATESTKEY000000001";
export const s3Secret = "a/secret+key/0123456789abcdefghijklmnopq";

export interface S3Server {
  /** For endpoint_url. */
  url: string;
  /** Requests that were let through. */
  requests: { method: string; path: string; region: string; headers: Record<string, string> }[];
  /** Keys in a bucket, sorted. */
  keys(bucket: string): string[];
  read(bucket: string, key: string): Uint8Array;
  /** The most keys and prefixes that a listing has: 1000, as everywhere. */
  pageMax: number;
  makeBucket(bucket: string): void;
  removeBucket(bucket: string): void;
  /** Answers every request from now on; undefined: as usual again. */
  answer: ((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined;
  /** The one region that signatures may be for; undefined: any. Told to who names another, as Amazon does. */
  region: string | undefined;
  /** Refuses connections until `start`. */
  stop(): Promise<void>;
  start(): void;
}

interface S3rver {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}

/** Open until the test file ends. */
export async function startS3(...buckets: string[]): Promise<S3Server> {
  const directory = makeFolder();
  for (const bucket of buckets) mkdirSync(join(directory, bucket));
  const { default: S3rver } = (await import("@20minutes/s3rver" as string)) as {
    default: new (options: Record<string, unknown>) => S3rver;
  };
  const store = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory });
  const { port: inner } = await store.run();
  later(() => store.close());
  const requests: S3Server["requests"] = [];
  const server: S3Server = {
    url: "",
    requests,
    answer: undefined,
    region: undefined,
    pageMax: 1000,
    keys: (bucket) => keysBelow(join(directory, bucket)),
    read: (bucket, key) => new Uint8Array(readFileSync(join(directory, bucket, `${key}${objectEnding}`))),
    makeBucket: (bucket) => void mkdirSync(join(directory, bucket)),
    removeBucket: (bucket) => rmSync(join(directory, bucket), { recursive: true, force: true }),
    stop: async () => {},
    start: () => {},
  };
  const serve = (port: number) =>
    Bun.serve({
      port,
      hostname: "127.0.0.1",
      maxRequestBodySize: 2 ** 40,
      idleTimeout: 0,
      fetch: async (request) => {
        const asked = await server.answer?.(request);
        if (asked) return asked;
        const { region, refusal } = checkSignature(request);
        if (refusal) return s3Error(403, refusal);
        const own = server.region;
        if (own !== undefined && region !== own) {
          const more = `<Region>${own}</Region>`;
          return s3Error(400, "AuthorizationHeaderMalformed", `the region '${region}' is wrong`, more);
        }
        const whole = request.url.replace(/^https?:\/\/[^/]+/, "");
        // s3rver does not know our keys.
        const path = request.method === "DELETE" ? whole.replace(/\?.*/, "") : whole;
        requests.push({
          method: request.method,
          path,
          region,
          headers: Object.fromEntries(request.headers),
        });
        const url = new URL(request.url);
        if (request.method === "GET" && url.searchParams.get("list-type") === "2") {
          const bucket = url.pathname.split("/")[1] ?? "";
          if (!existsSync(join(directory, bucket))) return s3Error(404, "NoSuchBucket");
          return listed(keysBelow(join(directory, bucket)), url.searchParams, server.pageMax);
        }
        return await forward(request, `http://127.0.0.1:${inner}${path}`);
      },
    });
  let running: ReturnType<typeof serve> | undefined = serve(0);
  const port = Number(running.port);
  server.url = `http://127.0.0.1:${port}`;
  server.stop = async () => {
    await running?.stop(true);
    running = undefined;
  };
  server.start = () => void (running ??= serve(port));
  later(() => server.stop());
  return server;
}

const objectEnding = "._S3rver_object";

function keysBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((name) => name.endsWith(objectEnding))
    .map((name) => name.slice(0, -objectEnding.length))
    .toSorted();
}

/** A page of ListObjectsV2: keys and common prefixes share its length and its order. */
function listed(keys: readonly string[], query: URLSearchParams, pageMax: number): Response {
  const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter") ?? ""];
  const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
  const countMax = Math.min(pageMax, Number(query.get("max-keys") ?? pageMax));
  const below = keys.filter((key) => key.startsWith(prefix));
  const names = below.map((key) => {
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    return end < 0 ? key : key.slice(0, end + delimiter.length);
  });
  const left = [...new Set(names)].filter((name) => name > after);
  const page = left.slice(0, countMax);
  const isFolder = (name: string) => delimiter !== "" && name.endsWith(delimiter);
  const texts = page.map((name) =>
    isFolder(name)
      ? `<CommonPrefixes><Prefix>${Bun.escapeHTML(name)}</Prefix></CommonPrefixes>`
      : `<Contents><Key>${Bun.escapeHTML(name)}</Key><Size>1</Size></Contents>`,
  );
  const isTruncated = left.length > page.length;
  const more = isTruncated
    ? `<NextContinuationToken>${Bun.escapeHTML(page.at(-1)!)}</NextContinuationToken>`
    : "";
  const body = `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${more}${texts.join("")}</ListBucketResult>`;
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`, {
    headers: { "content-type": "application/xml" },
  });
}

/** s3rver knows one pair of keys, and has no need to look at them again. */
async function forward(request: Request, url: string): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of ["authorization", "host", "expect", "connection"]) headers.delete(name);
  const whole = request.body ? await request.arrayBuffer() : undefined;
  const init = { method: request.method, headers, redirect: "manual", decompress: false } as const;
  const reply = await fetch(url, { ...init, ...(whole && { body: whole }) });
  const back = new Headers(reply.headers);
  back.delete("transfer-encoding");
  return new Response(request.method === "HEAD" ? null : await reply.arrayBuffer(), {
    status: reply.status,
    headers: back,
  });
}

export function s3Error(status: number, code: string, message = code, more = ""): Response {
  const error = `<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`;
  const body = `<?xml version="1.0" encoding="UTF-8"?>${error}`;
  return new Response(body, { status, headers: { "content-type": "application/xml" } });
}

/** AWS Signature Version 4 in the Authorization header, or of a removal in its query. */
export function checkSignature(request: Request): { region: string; refusal?: string } {
  const shape =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const url = new URL(request.url);
  const asked = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? "";
  const isPresigned = request.method === "DELETE" && asked("Signature") !== "";
  const presigned = `AWS4-HMAC-SHA256 Credential=${asked("Credential")}, SignedHeaders=${asked("SignedHeaders")}, Signature=${asked("Signature")}`;
  const found = shape.exec(isPresigned ? presigned : (request.headers.get("authorization") ?? ""));
  const date = isPresigned ? asked("Date") : request.headers.get("x-amz-date");
  if (!found) return { region: "", refusal: "AccessDenied" };
  const [, key = "", day = "", region = "", signed = "", signature = ""] = found;
  if (key !== s3Key) return { region, refusal: "InvalidAccessKeyId" };
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
  const headers = signed
    .split(";")
    .map((name) => `${name}:${(request.headers.get(name) ?? "").trim().replace(/ +/g, " ")}\n`)
    .join("");
  const names = new Set(signed.split(";"));
  const unsigned = [...request.headers.keys()].filter(
    (name) => name.startsWith("x-amz-") && !names.has(name),
  );
  if (unsigned.length > 0) return { region, refusal: "AccessDenied" };
  const path = url.pathname
    .split("/")
    .map((step) => encode(decodeURIComponent(step)))
    .join("/");
  const payload = isPresigned ? "UNSIGNED-PAYLOAD" : (request.headers.get("x-amz-content-sha256") ?? "");
  const canonical = [request.method, path, query, headers, signed, payload].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const hash = createHash("sha256").update(canonical).digest("hex");
  const text = ["AWS4-HMAC-SHA256", date, scope, hash].join("\n");
  const signingKey = [day, region, "s3", "aws4_request"].reduce<Buffer>(
    (last, part) => hmac(last, part),
    Buffer.from(`AWS4${s3Secret}`),
  );
  const right = hmac(signingKey, text).toString("hex") === signature;
  return right ? { region } : { region, refusal: "SignatureDoesNotMatch" };
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
