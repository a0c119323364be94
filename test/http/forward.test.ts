import { afterAll, expect, test } from "bun:test";
import { clientAddressHeader, forwardTo } from "../../src/http/forward.ts";

const other = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ headers }) => new Response(headers.get(clientAddressHeader)),
});
afterAll(() => other.stop(true));

test("the other process gets the client's address, whatever the client claims", async () => {
  const addresses: (string | undefined)[] = ["10.1.2.3", undefined];
  const forward = forwardTo(`http://127.0.0.1:${other.port}`, () => addresses.shift());
  const request = () =>
    new Request("http://sluice.example/api/login/", { headers: { [clientAddressHeader]: "6.6.6.6" } });
  expect(await (await forward(request())).text()).toBe("10.1.2.3");
  expect(await (await forward(request())).text()).toBe("");
});

test("a page may read why nothing was forwarded, and when to come back", async () => {
  const forward = forwardTo("http://127.0.0.1:1", () => undefined);
  const origin = "https://shop.example";
  const reply = await forward(new Request("http://localhost/flags/?v=2", { headers: { origin } }));
  expect(reply.status).toBe(503);
  expect(reply.headers.get("access-control-allow-origin")).toBe(origin);
  expect(reply.headers.get("retry-after")).toBe("1");
  const managed = await forward(new Request("http://localhost/api/projects/", { headers: { origin } }));
  expect(managed.headers.get("access-control-allow-origin")).toBeNull();
});
