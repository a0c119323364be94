import { afterAll, expect, test } from "bun:test";
import { listen, openApplication } from "../../src/http/listen.ts";
import { PeerAddresses } from "../../src/http/peer.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { sendRaw } from "../support/raw.ts";

afterAll(cleanUp);

function open(): { url: string; peers: PeerAddresses } {
  const peers = new PeerAddresses();
  const answer = async (request: Request) => {
    // As capture asks: behind a body that was waited for.
    await request.text();
    return new Response(peers.of(request) ?? "nobody");
  };
  const app = openApplication().post("/asked", ({ request }) => answer(request), { parse: "none" });
  const server = listen(app, {
    host: "127.0.0.1",
    port: 0,
    bodyBytesMax: 1000,
    idleTimeoutSeconds: 60,
    peers,
    isProxy: () => false,
  });
  later(() => server.stop());
  return { url: server.url, peers };
}

test("the caller is known by the address of the connection, also in a request without a host", async () => {
  const { url } = open();
  expect(await (await fetch(`${url}/asked?a=b`, { method: "POST", body: "x" })).text()).toBe("127.0.0.1");
  const old = await sendRaw(url, ["POST /asked HTTP/1.0"], "x");
  expect(old.text).toEndWith("127.0.0.1");
});

test("a request that no server received is nobody's", () => {
  const { peers } = open();
  expect(peers.of(new Request("http://localhost/asked"))).toBeUndefined();
  expect(new PeerAddresses().of(new Request("http://localhost/asked"))).toBeUndefined();
});
