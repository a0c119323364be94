import { afterAll, expect, test } from "bun:test";
import { changedSource } from "../../support/changed_source.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

const counter = `// A destination that remembers what it was asked.
import { eventColumns } from "../../source/columns.ts";
import { destinationKind } from "../destination.ts";
import { readUrlHost, required } from "../fields.ts";

export const counter = destinationKind({
  fields: { url: { ...required, place: true }, pin: { ...required, secret: true } },
  findHost: readUrlHost("url"),
  columns: eventColumns,
  write: ({ rows }, { pin }) => Promise.resolve(rows * pin.length),
  probe: (_, { url }) => Promise.reject(new Error(url)),
});
`;

test("a destination is a folder and a line: everything else finds it there", async () => {
  const source = changedSource({
    "batch_exports/destinations/counter/counter.ts": counter,
    "batch_exports/destinations/destinations.ts": [
      [
        `import { azureBlob } from "./azure/azure.ts";\n`,
        `import { counter } from "./counter/counter.ts";\n`,
      ],
      ["  File: file,\n", "  Counter: counter,\n"],
    ],
  });
  expect(source.touched).toHaveLength(2);
  const room = "batch_exports/destinations";
  const { readDestination } = await source.load<
    typeof import("../../../src/batch_exports/destinations/check.ts")
  >(`${room}/check.ts`);
  const { openDestination, probe, unsupportedTypes } = await source.load<
    typeof import("../../../src/batch_exports/destinations/destinations.ts")
  >(`${room}/destinations.ts`);
  const url = "https://counter.example/in";
  const { type, config, secrets } = readDestination({ type: "Counter", config: { url, pin: "4711" } });
  expect([config, secrets]).toEqual([{ url }, { pin: "4711" }]);
  expect(() => readDestination({ type: "Counter", config: { url } })).toThrow("'pin'");
  const { kind, ...opened } = openDestination(type, config, secrets);
  expect(opened.secrets).toEqual(["4711"]);
  expect(kind.findHost?.(config)).toEqual({ field: "url", host: "counter.example" });
  expect(await kind.write({ rows: 3 } as never, opened.config)).toBe(12);
  await expect(probe({ kind, ...opened }, {} as never)).rejects.toThrow(url);
  expect(unsupportedTypes({ clickhouse: {} as never, exportFileDir: undefined })).toEqual(["File"]);
  const { exportModel } =
    await source.load<typeof import("../../../src/batch_exports/model.ts")>("batch_exports/model.ts");
  expect(JSON.stringify(exportModel)).toContain("File, Counter, NoOp.");
});
