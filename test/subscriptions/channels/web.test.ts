import { afterAll, beforeEach, expect, test } from "bun:test";
import { createServer } from "node:net";
import { openAddresses } from "../../../src/access/address.ts";
import { DeliveryError } from "../../../src/subscriptions/channels/delivery_error.ts";
import { openWeb } from "../../../src/subscriptions/channels/web.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { openWebSink } from "../../support/web_sink.ts";

const sink = openWebSink();
afterAll(cleanUp);

beforeEach(() => {
  sink.posted.length = 0;
  sink.answer = () => new Response("ok");
});

const open = openWeb(openAddresses({ allowPrivate: true }));
const message = (url: string) => ({ url: new URL(url), body: { a: "ü" }, idempotencyKey: "key-1" });

async function failureOf(sending: Promise<void>): Promise<DeliveryError> {
  const failure: unknown = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(failure instanceof DeliveryError)) throw new Error(`it ended as ${String(failure)}`);
  return failure;
}

test("the body arrives as JSON, with a key that identifies repetitions", async () => {
  await open.send(message(`${sink.url}/hook?x=1`));
  const [posted] = sink.posted;
  expect([posted?.path, posted?.body]).toEqual(["/hook", { a: "ü" }]);
  expect(posted?.headers.get("content-type")).toBe("application/json");
  expect(posted?.headers.get("idempotency-key")).toBe("key-1");
});

test.each([
  [200, undefined],
  [204, undefined],
  [301, "refused"],
  [307, "refused"],
  [400, "refused"],
  [404, "refused"],
  [410, "refused"],
  [408, "again"],
  [429, "again"],
  [500, "again"],
  [503, "again"],
] as const)("an answer of %i means %s", async (status, fate) => {
  const headers = { location: `${sink.url}/elsewhere` };
  sink.answer = () => new Response(status === 204 ? null : "said so", { status, headers });
  const failure = await open.send(message(sink.url)).then(
    () => undefined,
    (thrown: unknown) => thrown as DeliveryError,
  );
  expect(failure?.fate).toBe(fate);
  if (failure) expect(failure.message).toContain(String(status));
  expect(sink.posted.map(({ path }) => path)).toEqual(["/"]);
});

test("a long answer is neither read nor shown to its end", async () => {
  sink.answer = () => new Response("x".repeat(10_000_000), { status: 500 });
  expect((await failureOf(open.send(message(sink.url)))).message.length).toBeLessThan(400);
});

test("nobody there is a sure no; a line cut after the request was sent is a doubt", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  later(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  expect((await failureOf(open.send(message(`http://127.0.0.1:${port}/`)))).fate).toBe("doubt");
  expect((await failureOf(open.send(message("http://127.0.0.1:1/")))).fate).toBe("again");
});

test("a name that came to point inside is refused when it is used", async () => {
  let address = "93.184.216.34";
  const addresses = openAddresses({ allowPrivate: false, resolve: () => Promise.resolve([address]) });
  expect(await addresses.findResolvedRefusal("hook.example.com")).toBeUndefined();
  address = "127.0.0.1";
  const port = new URL(sink.url).port;
  const failure = await failureOf(openWeb(addresses).send(message(`http://hook.example.com:${port}/`)));
  expect(failure.message).toContain("private or local address");
  expect(sink.posted).toEqual([]);
});

test("the address that was looked at is the one connected to, under the name that was given", async () => {
  const addresses = openAddresses({ allowPrivate: true, resolve: () => Promise.resolve(["127.0.0.1"]) });
  const port = new URL(sink.url).port;
  await openWeb(addresses).send(message(`http://hook.invalid:${port}/in`));
  expect(sink.posted[0]?.headers.get("host")).toBe(`hook.invalid:${port}`);
});
