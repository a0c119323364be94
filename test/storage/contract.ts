// What every pair of stores does, wherever it runs. Run by contract.test.ts on embedded and on remote ones.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClickHouseError, readsUntil } from "../../src/storage/clickhouse/clickhouse.ts";
import { pingPostgres } from "../../src/storage/postgres/postgres.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { askClickHouse, nativeOf, storesStartMsMax } from "../support/stores.ts";

export interface Subject {
  stores: Stores;
  /** Where ClickHouse listens. */
  clickhouseUrl: string;
  /** DATA_DIR. */
  folder: string;
}

const nasty = "é 😀 'quoted' \\ back\n\ttab \"double\" `tick` {x:String} ; -- /* \u0001";

export function storageContract(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    const subjectOf = () => subject;
    beforeAll(async () => {
      subject = await open();
      await subject.stores.clickhouse.createDatabase();
    }, storesStartMsMax);
    afterAll(() => subject.stores.close());
    postgresContract(subjectOf);
    queryContract(subjectOf);
    errorContract(subjectOf);
    insertContract(subjectOf);
    isolationContract(subjectOf);
    wireContract(subjectOf);
  });
}

function postgresContract(subject: () => Subject): void {
  test("Postgres answers, and gives big integers as numbers while they are exact", async () => {
    const { sql } = subject().stores;
    await pingPostgres(sql);
    const rows = await sql`SELECT 9007199254740991::bigint AS safe, 9007199254740993::bigint AS large`;
    expect(rows[0]).toEqual({ safe: 9_007_199_254_740_991, large: 9_007_199_254_740_993n });
  });

  test("Postgres returns text and JSON as they were given", async () => {
    const { sql } = subject().stores;
    const text = nasty.replace("\u0001", "");
    const rows = await sql`SELECT ${text}::text AS text, ${sql.json({ text })} AS json`;
    expect(rows[0]).toEqual({ text, json: { text } });
  });

  test("Postgres says which rule a statement breaks", async () => {
    const { sql } = subject().stores;
    await expect(sql`SELECT 1 / 0`.execute()).rejects.toMatchObject({ code: "22012" });
  });
}

function queryContract(subject: () => Subject): void {
  test("ClickHouse takes parameters of every shape and returns them unchanged", async () => {
    const rows = await subject().stores.clickhouse.query(
      `SELECT {s:String} AS s, {u:UInt64} AS u, {n:Int32} AS n, {a:Array(String)} AS a, {b:Bool} AS b,
         {o:Nullable(String)} AS o, {t:DateTime64(3, 'UTC')} AS t`,
      {
        s: nasty,
        u: "18446744073709551615",
        n: -7,
        a: [nasty, ""],
        b: true,
        o: null,
        t: "2024-02-03 04:05:06.789",
      },
    );
    expect(rows).toEqual([
      {
        s: nasty,
        u: "18446744073709551615",
        n: -7,
        a: [nasty, ""],
        b: true,
        o: null,
        t: "2024-02-03 04:05:06.789",
      },
    ]);
  });

  test("ClickHouse takes more parameters than fit into a URL", async () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => `id-${index}-é`);
    const rows = await subject().stores.clickhouse.query(
      "SELECT length({ids:Array(String)}) AS count, {ids:Array(String)}[20000] AS last",
      { ids },
    );
    expect(rows).toEqual([{ count: "20000", last: "id-19999-é" }]);
  });

  test("a large answer arrives whole", async () => {
    const rows = await subject().stores.clickhouse.query<{ number: string }>(
      "SELECT number FROM numbers(300000)",
    );
    expect(rows.length).toBe(300_000);
    expect(rows.at(-1)).toEqual({ number: "299999" });
  });

  test("long lists and texts travel in parameters that a server takes; a longer field is refused", async () => {
    const { clickhouse } = subject().stores;
    const ids = Array.from({ length: 3000 }, (_, i) => `${i} ${nasty.repeat(3)}`);
    const content = ids.join("");
    const text = `SELECT countIf(id IN {ids:Array(String)}) AS listed, countIf(has({ids:Array(String)}, id)) AS had,
        countIf(id IN (SELECT arrayJoin({ids:Array(String)}))) AS joined, any(length({content:String})) AS bytes
      FROM (SELECT arrayJoin(arrayConcat({ids:Array(String)}, ['another'])) AS id)`;
    const [row] = await clickhouse.query<Record<string, string>>(text, { ids, content });
    const all = String(ids.length);
    expect(row).toEqual({ listed: all, had: all, joined: all, bytes: String(Buffer.byteLength(content)) });
    await clickhouse.command("CREATE TABLE listed (id String) ENGINE = MergeTree ORDER BY id");
    await clickhouse.command("INSERT INTO listed SELECT arrayJoin({ids:Array(String)})", { ids });
    await clickhouse.command("INSERT INTO listed SELECT 'another'");
    await clickhouse.command(
      `DELETE FROM ${clickhouse.tables.local("listed")} WHERE id IN {ids:Array(String)}`,
      { ids },
    );
    expect(await clickhouse.query<{ id: string }>("SELECT id FROM listed")).toEqual([{ id: "another" }]);
    const form = new FormData();
    form.append("query", "SELECT length({x:String})");
    form.append("param_x", "x".repeat(131_073));
    const refused = await askClickHouse(subject().clickhouseUrl, {}, { body: form });
    expect([refused.status === 200, await refused.text()]).toEqual([
      false,
      expect.stringContaining("Field value too long"),
    ]);
  });

  test("a large answer of long rows arrives whole", async () => {
    const { clickhouse } = subject().stores;
    const text = "SELECT number, repeat({s:String}, 50) AS text FROM numbers(2000)";
    const rows = await clickhouse.query<{ number: string; text: string }>(text, { s: nasty });
    expect(rows.map(({ number }) => Number(number))).toEqual(Array.from({ length: 2000 }, (_, i) => i));
    expect(new Set(rows.map((row) => row.text))).toEqual(new Set([nasty.repeat(50)]));
  });

  test("a large answer in a format of its own arrives whole and unread", async () => {
    const text = "SELECT concat(',', toString(number), {s:String}) FROM numbers(300000) FORMAT RawBLOB";
    const answer = await subject().stores.clickhouse.bytes(text, { s: nasty });
    const wanted = Array.from({ length: 300_000 }, (_, number) => `,${number}${nasty}`).join("");
    expect(Buffer.from(answer).equals(Buffer.from(wanted))).toBe(true);
  });

  test("an answer that fails half way is no answer", async () => {
    const text = "SELECT toString(throwIf(number = 3000000)) FROM numbers(10000000) FORMAT RawBLOB";
    await expect(subject().stores.clickhouse.bytes(text)).rejects.toMatchObject({ code: "395" });
  });

  test("statements run side by side", async () => {
    const { clickhouse } = subject().stores;
    const running = clickhouse.query("SELECT sleep(3)", {}, { timeoutMs: 20_000 });
    const seen = clickhouse.query("SELECT sleep(1)").then(() => "second");
    expect(await Promise.race([running.then(() => "first"), seen])).toBe("second");
    await running;
  });

  test("a statement that takes too long is given up, and ends in the engine too", async () => {
    const { clickhouse } = subject().stores;
    const endless = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))";
    await expect(clickhouse.query(endless, {}, { timeoutMs: 300 })).rejects.toMatchObject({
      kind: "transient",
      code: "TIMEOUT",
    });
    const running =
      "SELECT count() AS count FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers(1%'";
    while ((await clickhouse.query<{ count: string }>(running))[0]?.count !== "0") await Bun.sleep(20);
  });

  test("a statement whose client has left ends in the engine too", async () => {
    const { clickhouse } = subject().stores;
    const leaving = new AbortController();
    const endless = "SELECT count() AS left FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))";
    const reading = readsUntil(clickhouse, leaving.signal).query(endless);
    const running =
      "SELECT count() AS count FROM system.processes WHERE query LIKE 'SELECT count() AS left%'";
    const count = async () => (await clickhouse.query<{ count: string }>(running))[0]?.count;
    while ((await count()) === "0") await Bun.sleep(20);
    leaving.abort();
    await expect(reading).rejects.toMatchObject({ type: "ABORTED" });
    while ((await count()) !== "0") await Bun.sleep(20);
  });

  test("a read that takes more memory than any may is refused, and no other notices", async () => {
    const { clickhouse } = subject().stores;
    const large = "SELECT length(groupArray(number)) AS n FROM numbers(200000000)";
    await expect(clickhouse.query(large)).rejects.toMatchObject({
      kind: "transient",
      type: "MEMORY_LIMIT_EXCEEDED",
      message: expect.stringContaining("Query memory limit"),
    });
    // More than a small place has, less than a large one.
    const middling = "SELECT length(groupArray(number)) AS n FROM numbers(12000000)";
    expect(await clickhouse.query<{ n: string }>(middling)).toEqual([{ n: "12000000" }]);
  });
}

function errorContract(subject: () => Subject): void {
  const refused: [string, string, string][] = [
    ["SELEC 1", "62", "SYNTAX_ERROR"],
    ["SELECT 1; SELECT 2", "62", "SYNTAX_ERROR"],
    ["SELECT toUInt8('x')", "6", "CANNOT_PARSE_TEXT"],
  ];
  test.each(refused)("%s is refused permanently", async (text, code, type) => {
    const failing = subject().stores.clickhouse.query(text);
    await expect(failing).rejects.toBeInstanceOf(ClickHouseError);
    await expect(failing).rejects.toMatchObject({ kind: "refused", code, type });
  });

  const transient: [string, string, string][] = [
    ["SELECT * FROM nowhere", "60", "UNKNOWN_TABLE"],
    ["SELECT * FROM nowhere.at_all", "81", "UNKNOWN_DATABASE"],
    ["SELECT throwIf(1)", "395", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"],
    [
      "SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000",
      "241",
      "MEMORY_LIMIT_EXCEEDED",
    ],
  ];
  test.each(transient)("%s may succeed another time", async (text, code, type) => {
    const failing = subject().stores.clickhouse.query(text);
    await expect(failing).rejects.toMatchObject({ name: "ClickHouseError", kind: "transient", code, type });
  });

  test("a setting that does not exist is an error", async () => {
    const failing = subject().stores.clickhouse.query("SELECT 1", {}, { settings: { no_such_setting: 1 } });
    await expect(failing).rejects.toMatchObject({ code: "115", type: "UNKNOWN_SETTING" });
  });
}

function insertContract(subject: () => Subject): void {
  const rows = (from: number, to: number) =>
    `SELECT toUInt32(number) AS id, concat('é', toString(number)) AS name FROM numbers(${from}, ${to - from})`;

  test.each(["path", "bytes"] as const)("Native blocks by %s become one part", async (by) => {
    const { stores, clickhouseUrl, folder } = subject();
    const { clickhouse } = stores;
    await clickhouse.command(`CREATE TABLE by_${by} (id UInt32, name String) ENGINE = MergeTree ORDER BY id`);
    const blocks = [
      await nativeOf(clickhouseUrl, rows(0, 40_000)),
      await nativeOf(clickhouseUrl, rows(40_000, 100_000)),
    ];
    const path = join(folder, "it's a \\ segment.gz");
    writeFileSync(path, Buffer.concat(blocks));
    await clickhouse.insertNative(`by_${by}`, by === "path" ? { path } : { bytes: blocks });
    expect(
      await clickhouse.query(
        `SELECT uniqExact(_part) AS parts, count() AS rows, sum(id) AS ids, max(name) AS last FROM by_${by}`,
      ),
    ).toEqual([{ parts: "1", rows: "100000", ids: "4999950000", last: "é99999" }]);
  });

  test("the same bytes twice are stored twice: nothing is deduplicated behind our back", async () => {
    const { stores, clickhouseUrl } = subject();
    const { clickhouse } = stores;
    await clickhouse.command(
      `CREATE TABLE twice (id UInt32, name String) ENGINE = MergeTree ORDER BY id
       SETTINGS non_replicated_deduplication_window = 100`,
    );
    const bytes = [await nativeOf(clickhouseUrl, rows(0, 10))];
    await clickhouse.insertNative("twice", { bytes });
    await clickhouse.insertNative("twice", { bytes });
    expect(await clickhouse.query("SELECT count() AS count FROM twice")).toEqual([{ count: "20" }]);
  });

  test("broken bytes are refused permanently, and leave nothing", async () => {
    const { stores, clickhouseUrl } = subject();
    const { clickhouse } = stores;
    await clickhouse.command("CREATE TABLE broken (id UInt32, name String) ENGINE = MergeTree ORDER BY id");
    const bytes = await nativeOf(clickhouseUrl, rows(0, 1000));
    const failing = clickhouse.insertNative("broken", { bytes: [bytes, bytes.subarray(0, 500)] });
    await expect(failing).rejects.toMatchObject({ kind: "refused", type: "CANNOT_READ_ALL_DATA" });
    expect(await clickhouse.query("SELECT count() AS count FROM broken")).toEqual([{ count: "0" }]);
  });

  test("a row that breaks a constraint is refused permanently", async () => {
    const { stores, clickhouseUrl } = subject();
    const { clickhouse } = stores;
    await clickhouse.command(
      `CREATE TABLE checked (id UInt32, name String, CONSTRAINT small CHECK id < 5) ENGINE = MergeTree ORDER BY id`,
    );
    const bytes = [await nativeOf(clickhouseUrl, rows(0, 10))];
    const failing = clickhouse.insertNative("checked", { bytes });
    await expect(failing).rejects.toMatchObject({ kind: "refused", type: "VIOLATED_CONSTRAINT" });
  });

  test("a table that does not exist yet may come: the insert is not refused permanently", async () => {
    const { stores, clickhouseUrl, folder } = subject();
    const path = join(folder, "early");
    writeFileSync(path, await nativeOf(clickhouseUrl, rows(0, 10)));
    for (const body of [{ path }, { bytes: [await Bun.file(path).bytes()] }]) {
      await expect(stores.clickhouse.insertNative("early", body)).rejects.toMatchObject({
        kind: "transient",
        type: "UNKNOWN_TABLE",
      });
    }
  });

  test("a file that is gone is an error, not an insert of nothing", async () => {
    const { stores, folder } = subject();
    const failing = stores.clickhouse.insertNative("twice", { path: join(folder, "gone") });
    await expect(failing).rejects.toMatchObject({ name: "ClickHouseError", kind: "transient" });
  });
}

function isolationContract(subject: () => Subject): void {
  test("a setting lasts for its own statement only", async () => {
    const { clickhouse } = subject().stores;
    const asked = `SELECT getSetting('date_time_input_format') AS format, getSetting('insert_deduplication_token') AS token,
      getSetting('max_threads') AS threads`;
    const settings = {
      date_time_input_format: "best_effort",
      insert_deduplication_token: "t",
      max_threads: 1,
    };
    const [before] = await clickhouse.query(asked);
    for (let turn = 0; turn < 30; turn++) {
      expect(await clickhouse.query(asked, {}, { settings })).toEqual([
        { format: "best_effort", token: "t", threads: 1 },
      ]);
      expect(await clickhouse.query(asked)).toEqual([before as object]);
    }
  });

  test("a deduplication token of one insert does not swallow the next", async () => {
    const { clickhouse } = subject().stores;
    await clickhouse.command(
      `CREATE TABLE tokens (id UInt32) ENGINE = MergeTree ORDER BY id
       SETTINGS non_replicated_deduplication_window = 100`,
    );
    const insert = "INSERT INTO tokens SELECT 1";
    await clickhouse.command(insert, {}, { settings: { insert_deduplication_token: "once" } });
    await clickhouse.command("INSERT INTO tokens SELECT 2");
    await clickhouse.command("INSERT INTO tokens SELECT 3");
    expect(await clickhouse.query("SELECT count() AS count FROM tokens")).toEqual([{ count: "3" }]);
  });

  test("a parameter lasts for its own statement only", async () => {
    const { clickhouse } = subject().stores;
    expect(await clickhouse.query("SELECT {x:String} AS x", { x: "here" })).toEqual([{ x: "here" }]);
    await expect(clickhouse.query("SELECT {x:String} AS x")).rejects.toMatchObject({
      type: "UNKNOWN_QUERY_PARAMETER",
    });
  });

  test("parameters of statements at the same time do not mix", async () => {
    const { clickhouse } = subject().stores;
    const asked = Array.from({ length: 100 }, (_, x) => clickhouse.query("SELECT {x:UInt32} AS x", { x }));
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 100 }, (_, x) => [{ x }]));
  });
}

function wireContract(subject: () => Subject): void {
  const ask = (search: Record<string, string>, init?: RequestInit) =>
    askClickHouse(subject().clickhouseUrl, search, init);

  test("data follows its statement in the body, in any format and compressed", async () => {
    await ask(
      {},
      { body: "CREATE TABLE sluice.texts (id UInt32, name String) ENGINE = MergeTree ORDER BY id" },
    );
    const bodies: [Record<string, string>, RequestInit][] = [
      [
        { query: "INSERT INTO texts FORMAT JSONEachRow" },
        { body: '{"id":1,"name":"a;b"}\n{"id":2,"name":"é"}' },
      ],
      [{ query: "INSERT INTO texts (name, id) FORMAT CSV" }, { body: `"x, 'y""",3\n` }],
      [{ query: "INSERT INTO texts VALUES" }, { body: "(4, 'four'), (5, ';')" }],
      [
        {},
        {
          body: 'INSERT INTO texts SETTINGS async_insert = 0 FORMAT JSONEachRow {"id":6,"name":"inline; \'"}',
        },
      ],
      [{}, { body: "INSERT INTO texts (id) VALUES (7)" }],
      [{ query: "INSERT INTO texts FORMAT TSV" }, gzipped("8\teight\n")],
      [{}, gzipped("INSERT INTO texts SELECT 9, 'nine'")],
      [{ query: "INSERT INTO texts FORMAT TSV" }, zstandard("10\tten\n")],
    ];
    for (const [search, init] of bodies) {
      const response = await ask({ database: "sluice", ...search }, init);
      expect([search, response.status, await response.text()]).toEqual([search, 200, ""]);
    }
    const stored = await ask(
      { database: "sluice" },
      { body: "SELECT id, name FROM texts ORDER BY id FORMAT CSV" },
    );
    expect(await stored.text()).toBe(
      `1,"a;b"\n2,"é"\n3,"x, 'y"""\n4,"four"\n5,";"\n6,"inline; '"\n7,""\n8,"eight"\n9,"nine"\n10,"ten"\n`,
    );
  });

  test("an answer is compressed for who asks for it", async () => {
    // `decompress` is the runtime's own option, unknown to the types.
    const asItCame: RequestInit & { decompress: boolean } = {
      headers: { "accept-encoding": "gzip" },
      decompress: false,
    };
    const text = "SELECT number FROM numbers(100000)";
    const plain = await (await ask({ query: text })).text();
    expect(plain.length).toBe(588_890);
    const search = { query: text, enable_http_compression: "1" };
    for (const whole of ["0", "1"]) {
      const zipped = await ask({ ...search, wait_end_of_query: whole }, asItCame);
      expect(zipped.headers.get("content-encoding")).toBe("gzip");
      expect(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(await zipped.arrayBuffer())))).toBe(
        plain,
      );
    }
  });

  test("an answer larger than memory wants comes in pieces, and may be left in the middle", async () => {
    const response = await ask({ query: "SELECT number FROM numbers(10000000000)" });
    const reader = response.body?.getReader();
    let bytes = 0;
    while (bytes < 5_000_000) bytes += (await reader?.read())?.value?.length ?? 0;
    await reader?.cancel();
    const running =
      "SELECT count() FROM system.processes WHERE query LIKE 'SELECT number FROM numbers(1000000000%'";
    while ((await (await ask({ query: running })).text()) !== "0\n") await Bun.sleep(20);
  });

  test("an answer that fails in the middle is cut short, never ended as if it were whole", async () => {
    const query = "SELECT throwIf(number = 3000000) FROM numbers(10000000)";
    const zipped = { headers: { "accept-encoding": "gzip" } };
    for (const [search, init] of [
      [{ query }, {}],
      [{ query, enable_http_compression: "1" }, zipped],
    ] as const) {
      const reading = ask(search, init).then((response) => response.bytes());
      await expect(reading).rejects.toThrow();
    }
    await expect(subject().stores.clickhouse.query(query)).rejects.toMatchObject({ code: "395" });
  });

  test("an error has its number in a header and its text in the body", async () => {
    const response = await ask({ query: "SELECT * FROM nowhere" });
    expect(response.status).toBe(404);
    expect(response.headers.get("x-clickhouse-exception-code")).toBe("60");
    expect(await response.text()).toMatch(/^Code: 60\. DB::Exception: .*\(UNKNOWN_TABLE\)/);
  });

  test("a wrong password is refused, a ping needs none", async () => {
    const { host } = new URL(subject().clickhouseUrl);
    const response = await fetch(`http://${host}/?query=SELECT+1`, {
      headers: { "x-clickhouse-key": "wrong" },
    });
    expect([response.status, response.headers.get("x-clickhouse-exception-code")]).toEqual([403, "516"]);
    expect(await (await fetch(`http://${host}/ping`)).text()).toBe("Ok.\n");
  });

  test("a statement names no file outside the data folder", async () => {
    const statements: [string, string][] = [
      ["INSERT INTO sluice.texts FROM INFILE '/etc/passwd' FORMAT CSV", "291"],
      ["INSERT INTO sluice.texts FROM INFILE '/etc/pass*' FORMAT CSV", "107"],
      ["INSERT INTO sluice.texts FROM INFILE '../../../../../../etc/passwd' FORMAT CSV", "291"],
      ["SELECT 1 INTO OUTFILE '/tmp/sluice-outfile'", "48"],
    ];
    for (const [query, code] of statements) {
      const response = await ask({ query });
      expect([query, response.headers.get("x-clickhouse-exception-code")]).toEqual([query, code]);
    }
  });
}

function zstandard(text: string): RequestInit {
  return { body: Bun.zstdCompressSync(Buffer.from(text)), headers: { "content-encoding": "zstd" } };
}

function gzipped(text: string): RequestInit {
  return { body: Bun.gzipSync(Buffer.from(text)), headers: { "content-encoding": "gzip" } };
}
