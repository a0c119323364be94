// A blob store on the loopback device that speaks as much of Azure's protocol as writing takes, and computes every
// request's SharedKey signature again.

import { createHmac } from "node:crypto";
import { later } from "./cleanup.ts";

export const azureAccount = "testaccount";
export const azureKey = Buffer.from("a key of thirty-two bytes or more").toString("base64");

export interface AzureServer {
  /** For endpoint_url. */
  url: string;
  /** Whole blobs by container/key. */
  blobs: Map<string, Uint8Array>;
  /** The requests: the method, the address, the Host header, the length of the body. */
  requests: { method: string; url: URL; host: string; bytes: number }[];
  /** Answers every request from now on; undefined: as usual again. */
  answer: ((request: Request) => Response | undefined) | undefined;
}

/** Open until the test file ends. */
export function startAzure(...containers: string[]): AzureServer {
  const blobs = new Map<string, Uint8Array>();
  const blocks = new Map<string, Uint8Array>();
  const azure: AzureServer = { url: "", blobs, requests: [], answer: undefined };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 2 ** 40,
    fetch: async (request) => {
      const url = new URL(request.url);
      const body = new Uint8Array(await request.arrayBuffer());
      const host = request.headers.get("host") ?? "";
      azure.requests.push({ method: request.method, url, host, bytes: body.length });
      const asked = azure.answer?.(request);
      if (asked) return asked;
      if (!isSigned(request, url, body.length)) return azureError(403, "AuthenticationFailed");
      const [, , container = "", ...steps] = url.pathname.split("/").map(decodeURIComponent);
      if (!containers.includes(container)) return azureError(404, "ContainerNotFound");
      const name = `${container}/${steps.join("/")}`;
      const comp = url.searchParams.get("comp");
      if (request.method === "GET" && url.searchParams.get("restype") === "container") return made(200);
      if (request.method === "HEAD") return azureError(blobs.has(name) ? 200 : 404, "BlobNotFound");
      if (request.method === "DELETE")
        return blobs.delete(name) ? made(202) : azureError(404, "BlobNotFound");
      if (request.method !== "PUT") return azureError(400, "UnsupportedHere");
      if (comp === "block") blocks.set(`${name} ${url.searchParams.get("blockid")}`, body);
      else if (comp === "blocklist") {
        const ids = [...new TextDecoder().decode(body).matchAll(/<Latest>([^<]+)<\/Latest>/g)].map(
          (one) => one[1]!,
        );
        blobs.set(name, Buffer.concat(ids.map((id) => blocks.get(`${name} ${id}`)!)));
      } else blobs.set(name, body);
      return made(201);
    },
  });
  later(() => server.stop(true));
  azure.url = `http://127.0.0.1:${server.port}/${azureAccount}`;
  return azure;
}

function made(status: number): Response {
  const headers = {
    etag: '"1"',
    "last-modified": "Sun, 05 May 2024 00:00:00 GMT",
    "x-ms-request-id": crypto.randomUUID(),
    "x-ms-request-server-encrypted": "true",
    "x-ms-version": "2023-11-03",
    "x-ms-lease-status": "unlocked",
    "x-ms-lease-state": "available",
    "x-ms-has-immutability-policy": "false",
    "x-ms-has-legal-hold": "false",
    "x-ms-default-encryption-scope": "$account-encryption-key",
    "x-ms-deny-encryption-scope-override": "false",
    "x-ms-immutable-storage-with-versioning-enabled": "false",
  };
  return new Response(null, { status, headers });
}

export function azureError(status: number, code: string): Response {
  const body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  const headers = { "content-type": "application/xml", "x-ms-error-code": code };
  return new Response(body, { status, headers });
}

/** SharedKey, version 2015 and later. */
function isSigned(request: Request, url: URL, length: number): boolean {
  const { headers } = request;
  const plain = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
  ];
  const rest = ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"];
  const values = [...plain, ...rest].map((name) =>
    name === "content-length" && length === 0 ? "" : (headers.get(name) ?? ""),
  );
  const own = [...headers]
    .filter(([name]) => name.startsWith("x-ms-"))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value}`);
  const query = [...url.searchParams]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `\n${name.toLowerCase()}:${value}`);
  const resource = `/${azureAccount}${url.pathname}${query.join("")}`;
  const text = [request.method, ...values, ...own, resource].join("\n");
  const right = createHmac("sha256", Buffer.from(azureKey, "base64")).update(text).digest("base64");
  return headers.get("authorization") === `SharedKey ${azureAccount}:${right}`;
}
