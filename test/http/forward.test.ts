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
