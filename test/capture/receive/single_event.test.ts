import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { type Desk, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

/** As over a socket, where the length of a body is known before it is here. */
function announced(desk: Desk, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  return desk.send("/e/", body, { ...headers, "content-length": String(length) });
}

const plain = { api_key: key, event: "e", distinct_id: "d", timestamp: "2024-05-06T07:08:09Z" };
const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";

const bodies: readonly (string | Uint8Array)[] = [
  { ...plain, uuid, properties: { $set: { plan: "a" }, text: "靴" } },
  { ...plain, uuid, historical_migration: true },
  { event: "e", distinct_id: 7, token: key, uuid, timestamp: "2024-05-06T07:08:09Z" },
  { event: "e", uuid, timestamp: "2024-05-06T07:08:09Z", properties: { token: key, distinct_id: "d" } },
  { ...plain, uuid, api_key: "phc_nobody_has_it" },
  { ...plain, uuid, api_key: undefined },
  { ...plain, uuid, api_key: "" },
  { ...plain, uuid: "none" },
  { ...plain, uuid, distinct_id: "" },
  { ...plain, uuid, event: undefined },
  { ...plain, uuid, event: "$create_alias", properties: { alias: "other" } },
  { ...plain, uuid, event: "$snapshot" },
  { ...plain, uuid, event: "$performance_event" },
  { api_key: key, batch: [{ ...plain, uuid }, { event: "" }] },
  [{ ...plain, uuid }],
  { api_key: key, batch: [] },
  7,
]
  .map((body): string | Uint8Array => JSON.stringify(body))
  .concat(
    JSON.stringify({ ...plain, uuid }).slice(0, -1),
    `${JSON.stringify({ ...plain, uuid })}x`,
    ` ${JSON.stringify({ ...plain, uuid })} `,
    Bun.gzipSync(JSON.stringify({ ...plain, uuid })),
    Buffer.concat([
      Buffer.from(JSON.stringify({ ...plain, uuid, text: "" }).slice(0, -2)),
      Buffer.from([0xff, 0x22, 0x7d]),
    ]),
    "",
  );

test("a short body is answered and kept the same, whether its length was announced or not", async () => {
  const answers = new Set<number>();
  for (const body of bodies) {
    const outcomes = [];
    for (const send of [announced, (desk: Desk) => desk.send("/e/", body)]) {
      const desk = openDesk();
      const reply = await send(desk, body);
      answers.add(reply.status);
      const rows = desk.rows().map(({ created_at: _at, _batch, rank: _rank, uuid: id, ...row }) => {
        return { ...row, uuid: Buffer.from(body).includes(uuid) ? id : "made" };
      });
      outcomes.push({
        status: reply.status,
        text: await reply.text(),
        kept: await desk.kept(),
        rows,
        counts: desk.counts,
      });
    }
    expect(outcomes[0]).toEqual(outcomes[1]!);
  }
  expect([...answers].toSorted()).toEqual([200, 400, 401]);
});

test("an event that came alone is on the disk when it is answered, and counted once", async () => {
  const desk = openDesk();
  for (let sent = 1; sent <= 5; sent++) {
    expect((await announced(desk, JSON.stringify(plain))).status).toBe(200);
    expect(desk.journal.live.openRows + desk.journal.live.writingRows).toBe(0);
    expect(desk.journal.live.segment?.rows).toBe(sent);
    expect(desk.counts).toMatchObject({ received: sent, accepted: sent, ignored: 0, refused: 0 });
  }
});

test("many at once are each kept as they were sent", async () => {
  const desk = openDesk();
  const ids = Array.from({ length: 300 }, (_, i) => `person ${i} ${"x".repeat(i % 90)}`);
  const replies = await Promise.all(
    ids.map((distinct_id) => announced(desk, JSON.stringify({ ...plain, distinct_id }))),
  );
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await desk.kept()).toMatchObject({ live: ids.length });
  expect(
    desk
      .rows()
      .map((row) => String(row["distinct_id"]))
      .toSorted(),
  ).toEqual(ids.toSorted());
  expect(desk.counts).toMatchObject({ received: ids.length, accepted: ids.length });
});

test("events that could not be written are all refused with a 503, and counted as nothing else", async () => {
  const desk = openDesk();
  rmSync(desk.journal.folder, { recursive: true });
  const replies = await Promise.all(
    Array.from({ length: 9 }, () =>
      announced(desk, JSON.stringify(plain), { origin: "https://example.com" }),
    ),
  );
  for (const reply of replies) {
    expect(reply.status).toBe(503);
    expect(reply.headers.get("retry-after")).toBe("5");
    expect(reply.headers.get("access-control-allow-origin")).toBe("https://example.com");
    expect(await reply.json()).toMatchObject({ code: "unavailable" });
  }
  expect(desk.counts).toMatchObject({ received: 0, accepted: 0, refused: 9 });
  expect(desk.journal.pending().events).toBe(0);
});

test("a full journal refuses an event that comes alone, too", async () => {
  const desk = openDesk({ journalBytesMax: 3000 });
  const statuses: number[] = [];
  for (let sent = 0; sent < 9; sent++) statuses.push((await announced(desk, JSON.stringify(plain))).status);
  expect(statuses[0]).toBe(200);
  expect(statuses.at(-1)).toBe(503);
});
