import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { importCommand } from "../../../src/cli/import.ts";
import { bodyLimits } from "../../../src/cli/import/body.ts";
import { apiKey, countsOf, eventLines, fixtures, ImportSetup } from "./setup.ts";

let setup: ImportSetup;
beforeEach(async () => void (setup = await ImportSetup.open()));
afterEach(async () => await setup.close());

const history = join(fixtures, "git-history.jsonl.gz");
const small = { bytesMax: 8000, rowsMax: 50 };

async function historyLines(): Promise<string[]> {
  return gunzipSync(await Bun.file(history).bytes())
    .toString()
    .trim()
    .split("\n");
}

describe("importing a file", () => {
  test("sends every event once, in order, as a historical migration under the project's key", async () => {
    const state = setup.path("state");
    const ran = await setup.run([history, "--state", state, "--concurrency", "1", "--json"], {
      bodyLimits: small,
    });
    expect(ran.code).toBe(0);
    expect(countsOf(ran)).toEqual({ sent: 280, accepted: 280, ignored: 0, rejected: 0 });
    const expected = (await historyLines()).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(setup.server.rows.map(({ uuid: _uuid, ...row }) => row)).toEqual(expected);
    for (const body of setup.server.taken) {
      expect(body).toMatchObject({ api_key: apiKey, historical_migration: true });
      expect(body.text.length).toBeLessThan(small.bytesMax + 200);
    }
    expect(await Bun.file(state).exists()).toBe(false);
  });

  test("leaves every byte of an event as it lies in the file", async () => {
    const lines = await historyLines();
    await setup.run([history, "--state", setup.path("state")]);
    const sent = setup.server.taken[0]!.text;
    for (const line of lines) expect(sent).toContain(line.slice(1));
    const properties = '{ "z":1.0, "a" : 1e5,"b":12345678901234567890}';
    const odd = `{"event":"a","timestamp":"2020-01-01T00:00:00Z","properties":${properties}}`;
    const ran = await setup.run([await setup.write("odd.json", `[\n ${odd}]`)]);
    expect(ran.code).toBe(0);
    expect(setup.server.taken.at(-1)!.text).toContain(odd.slice(1));
  });

  test("gives the same uuids every time, whatever the batches", async () => {
    await setup.run([history, "--state", setup.path("state")]);
    const first = setup.server.rows.map((row) => row["uuid"]);
    await setup.run([history, "--state", setup.path("state"), "--concurrency", "1"], { bodyLimits: small });
    expect(setup.server.rows.slice(280).map((row) => row["uuid"])).toEqual(first);
    expect(new Set(first).size).toBe(280);
  });

  test("of several takes equal lines in any of them for different events", async () => {
    const files = [await setup.write("a.jsonl", eventLines(2)), await setup.write("b.jsonl", eventLines(2))];
    await setup.run(files);
    expect(new Set(setup.server.rows.map((row) => row["uuid"])).size).toBe(4);
  });

  test("reads standard input", async () => {
    const input = (): ReadableStream<Uint8Array> => new Response(eventLines(3)).body!;
    const ran = await setup.run(["-", "--json"], { input });
    expect(countsOf(ran)).toEqual({ sent: 3, accepted: 3, ignored: 0, rejected: 0 });
    expect(ran.errors[0]).toBe("standard input: jsonl");
  });

  test("that is empty is done at once", async () => {
    const ran = await setup.run([await setup.write("empty.jsonl", ""), "--json"]);
    expect(ran.code).toBe(0);
    expect(countsOf(ran)).toEqual({ sent: 0, accepted: 0, ignored: 0, rejected: 0 });
    expect(setup.server.attempts).toBe(0);
  });

  // Two users who sign in on one device: the first sign-in of the file decides whose history it is.
  test("sends merges in the order of the files, whatever the other batches do, also after a failure", async () => {
    const at = "2020-01-01T00:00:00Z";
    const line = (n: number): string => {
      if (n % 7 !== 3)
        return JSON.stringify({ event: "seen", distinct_id: "dev", timestamp: at, properties: { n } });
      const properties = { n, $anon_distinct_id: "dev" };
      const event = ["$identify", "$create_alias", "$merge_dangerously"][n % 3];
      return JSON.stringify({ event, distinct_id: `user-${n}`, timestamp: at, properties });
    };
    const lines = Array.from({ length: 400 }, (_, n) => line(n));
    const files = [
      await setup.write("a.jsonl", lines.slice(0, 201).join("\n")),
      await setup.write("b.jsonl", lines.slice(201).join("\n")),
    ];
    let turn = 0;
    // Earlier answers take longer, and one of them fails.
    setup.server.hold = async () => await Bun.sleep(Math.max(0, 20 - 2 * turn++));
    setup.server.trouble = (_, attempt) => (attempt === 3 ? { status: 503 } : undefined);
    const limits = { bytesMax: 1_000_000, rowsMax: 10 };
    const ran = await setup.run([...files, "--json"], { bodyLimits: limits });
    expect(countsOf(ran)).toEqual({ sent: 400, accepted: 400, ignored: 0, rejected: 0 });
    const merges = setup.server.rows.filter(({ event }) => event !== "seen");
    const numbers = merges.map(({ properties }) => (properties as { n: number }).n);
    expect(numbers).toEqual(lines.map((_, n) => n).filter((n) => n % 7 === 3));
  });

  test("numbers the events that may change a person or group by their lines", async () => {
    const changing = [
      '"$set":{"a":1}',
      '"$unset":["a"]',
      '"\\u0024set_once":{"a":1}',
      '"properties":{"$set":{}}',
      '"properties":{"$group_set":{"a":1}}',
      '"offset":5,"properties":{"$set_once":{"a":1}}',
    ];
    const others = ["", '"properties":{"note":"\\"$set"}', '"properties":{"inner":{"$set":{}}}'];
    const head = '{"event":"e","distinct_id":"d","timestamp":"2020-01-01T00:00:00Z"';
    const lines = [...changing, ...others].map((member) => `${head}${member && ","}${member}}`);
    await setup.run([await setup.write("a.jsonl", lines.join("\n"))]);
    const ranks = setup.server.rows.map((row) => row["$import_rank"] as number | undefined);
    const first = ranks[0]!;
    expect(ranks.map((rank) => rank && rank - first)).toEqual([
      0,
      1,
      2,
      3,
      4,
      5,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("keeps no more batches on their way than it may", async () => {
    let under = 0;
    let most = 0;
    const three = Promise.withResolvers<void>();
    setup.server.hold = async () => {
      most = Math.max(most, ++under);
      // The first ones stay until as many are here as may be, and a moment longer: for one too many to come.
      if (under === 3) three.resolve();
      await three.promise;
      await Bun.sleep(1);
      under--;
    };
    await setup.run([await setup.write("a.jsonl", eventLines(40)), "--concurrency", "3"], {
      bodyLimits: { bytesMax: 8000, rowsMax: 1 },
    });
    expect(setup.server.rows).toHaveLength(40);
    expect(most).toBe(3);
  });
});

describe("what is wrong with single events", () => {
  test("is reported by file and line, and the rest is imported", async () => {
    const path = await setup.write(
      "mixed.jsonl",
      `${eventLines(1)}{"event":\n\n{"event":"b"}\n${eventLines(1)}`,
    );
    const ran = await setup.run([path, "--json"]);
    expect(ran.code).toBe(1);
    expect(countsOf(ran)).toEqual({ sent: 2, accepted: 2, ignored: 0, rejected: 2 });
    expect(ran.errors[1]).toStartWith(`${path}:2: not JSON: `);
    expect(ran.errors[2]).toBe(`${path}:4: no timestamp`);
  });

  test("and known to the server alone is counted by its reason", async () => {
    const time = '"timestamp":"2020-01-01T00:00:00Z"';
    const path = await setup.write(
      "ignored.jsonl",
      `{${time},"distinct_id":"d"}\n{"event":"a",${time}}\n${eventLines(1)}`,
    );
    const ran = await setup.run([path]);
    expect(ran.code).toBe(0);
    expect(ran.printed).toEqual([
      "sent 3",
      "accepted 1",
      "ignored 2 (missing_event_name 1, missing_distinct_id 1)",
      "rejected 0",
      "all of it can be read now",
    ]);
  });

  test("and altered by the server is counted by what was altered", async () => {
    const reply = {
      status: "Ok",
      accepted: 2,
      ignored: [],
      warnings_by_reason: { distinct_id_truncated: 1 },
    };
    setup.server.trouble = () => ({ status: 200, body: JSON.stringify(reply) });
    const ran = await setup.run([await setup.write("long.jsonl", eventLines(2))]);
    expect(ran.code).toBe(0);
    expect(ran.printed).toContain("with warnings 1 (distinct_id_truncated 1)");
  });

  test("and left out on purpose is counted too", async () => {
    const ran = await setup.run([join(fixtures, "import/amplitude.jsonl"), "--state", setup.path("state")]);
    expect(ran.code).toBe(1);
    expect(ran.printed).toContain("skipped 1 (Amplitude's session_start 1)");
    expect(ran.printed).toContain("rejected 1");
  });
});

describe("a dry run", () => {
  test("counts, sends nothing, leaves nothing behind, and needs no server", async () => {
    const path = await setup.write("a.jsonl", `${eventLines(3)}{}\n`);
    const ran = await setup.run([path, "--dry-run", "--json", "--host", "http://127.0.0.1:1"]);
    expect(ran.code).toBe(1);
    expect(countsOf(ran)).toEqual({ sent: 3, accepted: 0, ignored: 0, rejected: 1 });
    expect(ran.errors).toContain("would send 3");
    expect(setup.server.attempts).toBe(0);
    expect(await Bun.file(`${path}.sluice-import`).exists()).toBe(false);
  });
});

describe("wrong use", () => {
  test("ends with 2, a missing or foreign file with 1, each with one line", async () => {
    expect((await setup.run([])).code).toBe(2);
    expect((await setup.run(["a", "--nonsense"])).code).toBe(2);
    const missing = await setup.run([setup.path("none")]);
    expect(missing).toEqual({ code: 1, printed: [], errors: [`${setup.path("none")}: no such file`] });
    const folder = await setup.run([setup.folder]);
    expect(folder.errors).toEqual([`${setup.folder}: a directory; name the files in it`]);
    const zip = await setup.run([await setup.write("a.zip", "PK\x03\x04")]);
    expect([zip.code, zip.errors.at(-1)]).toEqual([
      1,
      `${setup.path("a.zip")}: a zip archive; unpack it and import the files in it`,
    ]);
    expect(await Bun.file(setup.path("a.zip.sluice-import")).exists()).toBe(false);
  });

  test("is what the help says how to avoid", () => {
    for (const word of [
      "--host",
      "--api-key",
      "--format",
      "--concurrency",
      "--state",
      "--dry-run",
      "--json",
      "Example:",
    ]) {
      expect(importCommand.help).toContain(word);
    }
    for (const line of importCommand.help.split("\n")) expect(line.length).toBeLessThan(120);
  });
});

test("a body stays well below a server's default limit", () => {
  expect(bodyLimits.bytesMax * 2).toBeLessThan(20_971_520);
});
