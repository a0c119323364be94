import { afterAll, expect, test } from "bun:test";
import { changedSource } from "../support/changed_source.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp);

test("a capture path is a line of one list: routes, spellings, pages and the description find it there", async () => {
  const source = changedSource({ "http/sdk_path.ts": [[`  "/track": {},\n`, `  "/collect": {},\n`]] });
  expect(source.touched).toEqual(["http/sdk_path.ts"]);
  const { captureRoutes, isCapture } =
    await source.load<typeof import("../../src/capture/route.ts")>("capture/route.ts");
  for (const path of ["/collect", "/collect/", "/track", "/i/v1/ai/events"]) {
    expect(isCapture(new Request(`http://sluice.example${path}?ip=1`, { method: "POST" }))).toBe(true);
  }
  const routes = captureRoutes({ bodyBytesMax: 1024 } as never).routes;
  expect(routes.filter(({ path }) => path === "/collect/").map(({ method }) => method)).toContain("POST");
  const { isForAnyOrigin, isSdkPath } =
    await source.load<typeof import("../../src/http/sdk_path.ts")>("http/sdk_path.ts");
  expect([isSdkPath("/collect"), isForAnyOrigin("/collect/")]).toEqual([true, true]);
  const { captureOperations } =
    await source.load<typeof import("../../src/capture/model.ts")>("capture/model.ts");
  expect(String(captureOperations["/capture/"]?.["description"])).toContain("`/collect/`");
});
