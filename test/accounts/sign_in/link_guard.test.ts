// Tries of links' passwords, by a clock of the test's own: only wrong ones count, and nobody's stop another's.

import { beforeAll, expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { signInLimits } from "../../../src/accounts/sign_in/limits.ts";
import { openLinkGuard } from "../../../src/accounts/sign_in/link_guard.ts";

const throttled = "Request was throttled";
const right = "known to many people";
let rows: { id: number; password_hash: string }[];

function openGuard() {
  const clock = { time: 0, now: () => clock.time, elapsed: () => clock.time };
  const guard = openLinkGuard({ clock, readAddress: ({ headers }) => headers.get("from") ?? undefined });
  const send = async (from: string, password: string, among: typeof rows, link = "link 1") =>
    (await guard.find(
      { request: new Request("http://test", { headers: { from } }), link, password },
      async () => among,
    )) !== undefined;
  return {
    clock,
    /** A password that is compared. */
    send: (from: string, password = right) => send(from, password, rows),
    /** A wrong one, as fast as a link without passwords answers. */
    fail: async (from: string, link?: string) => await send(from, "wrong", [], link),
    guard,
  };
}

beforeAll(async () => {
  rows = [{ id: 1, password_hash: await openGuard().guard.hash(right, 1) }];
});

test("right passwords give their tries back, wrong ones count until ten minutes have passed", async () => {
  const { send, clock } = openGuard();
  for (let i = 0; i < signInLimits.accountAttemptsMax - 1; i++)
    expect(await send("10.0.0.1", "a wrong password")).toBe(false);
  for (let i = 0; i < 3; i++) expect(await send("10.0.0.1")).toBe(true);
  expect(await send("10.0.0.1", "a wrong password")).toBe(false);
  await expect(send("10.0.0.1")).rejects.toThrow(throttled);
  expect(await send("10.0.0.2")).toBe(true);
  clock.time += signInLimits.attemptsWindowMs;
  expect(await send("10.0.0.1")).toBe(true);
});

test("however many a stranger tries from however many addresses, who knows the password from another is let in", async () => {
  const { send, fail } = openGuard();
  for (let i = 0; i < 2 * signInLimits.accountAttemptsAnywhereMax; i++) await fail(`10.0.1.${i}`);
  for (let i = 0; i < signInLimits.accountAttemptsMax; i++) await fail("10.0.0.1");
  await expect(fail("10.0.0.1")).rejects.toThrow(throttled);
  expect([await send("10.0.0.2"), await send("10.0.0.2", "a wrong password")]).toEqual([true, false]);
});

test("twenty who know the password open a link at once behind one address, some of them after a second", async () => {
  const { send } = openGuard();
  const enter = async (): Promise<boolean> => {
    try {
      return await send("10.0.0.1");
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "unavailable" });
      await setImmediate();
      return await enter();
    }
  };
  expect(await Promise.all(Array.from({ length: 20 }, enter))).toEqual(
    Array.from({ length: 20 }, () => true),
  );
});

test("of forty wrong ones at once from one address no more are compared than one after the other", async () => {
  const { guard, fail } = openGuard();
  const opened = Promise.withResolvers<typeof rows>();
  let compared = 0;
  const request = new Request("http://test", { headers: { from: "10.0.0.1" } });
  const tries = Array.from({ length: 40 }, () =>
    guard.find({ request, link: "link 1", password: "wrong" }, () => (compared++, opened.promise)),
  );
  const settled = Promise.allSettled(tries);
  opened.resolve([]);
  const refused = (await settled).filter((result) => result.status === "rejected");
  expect([compared, refused.length]).toEqual([signInLimits.accountAttemptsMax, 30]);
  for (const { reason } of refused)
    expect(reason).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  await expect(fail("10.0.0.1")).rejects.toThrow(throttled);
});

test("a stranger's tries at one link are none at another, and one address has no more tries at one of many", async () => {
  const { fail } = openGuard();
  for (let link = 0; link < 2 * signInLimits.addressAttemptsMax; link++)
    expect(await fail("10.0.0.1", `link ${link}`)).toBe(false);
  for (let i = 1; i < signInLimits.accountAttemptsMax; i++) await fail("10.0.0.1", "link 0");
  await expect(fail("10.0.0.1", "link 0")).rejects.toThrow(throttled);
  expect(await fail("10.0.0.1", "link 1")).toBe(false);
});

test("a try that nothing was compared with is none, and a right one among several passwords neither", async () => {
  const { guard, send } = openGuard();
  const request = new Request("http://test", { headers: { from: "10.0.0.1" } });
  const away = async () => await Promise.reject<typeof rows>(new Error("Postgres is away"));
  for (let i = 0; i < 2 * signInLimits.accountAttemptsMax; i++)
    await expect(guard.find({ request, link: "link 1", password: right }, away)).rejects.toThrow("away");
  const [known] = rows;
  const other = { id: 2, password_hash: await guard.hash("another of this link", 1) };
  const among = async () => [other, known!];
  for (let i = 0; i <= signInLimits.accountAttemptsMax; i++)
    expect(await guard.find({ request, link: "link 1", password: right }, among)).toBe(known);
  expect(await send("10.0.0.1")).toBe(true);
});
