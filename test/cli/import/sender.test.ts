import { describe, expect, test } from "bun:test";
import { judgeReply, type ReplyVerdict } from "../../../src/cli/import/sender.ts";

function judged(status: number, body: unknown = "", headers: Record<string, string> = {}): ReplyVerdict {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return judgeReply({ status, headers: new Headers(headers), body: text }, 10);
}

describe("a 200", () => {
  test("counts accepted and ignored rows by reason, and warnings", () => {
    const ignored = [{ index: 0, reason: "missing_event_name" }, { index: 10, reason: "beyond" }, {}, null];
    const ignored_by_reason = { missing_event_name: 2, heatmap: 1, other: -1 };
    const warnings_by_reason = { distinct_id_truncated: 4 };
    expect(
      judged(200, { status: "Ok", accepted: 7, ignored, ignored_by_reason, warnings_by_reason }),
    ).toEqual({
      is: "taken",
      counts: {
        sent: 10,
        accepted: 7,
        ignored: { missing_event_name: 2, heatmap: 1 },
        warned: { distinct_id_truncated: 4 },
        rejected: 0,
        skipped: {},
      },
      ignored: [{ index: 0, reason: "missing_event_name" }],
    });
  });

  test("always adds up, whatever the server counts", () => {
    const ignored_by_reason = { a: 1 };
    expect(judged(200, { status: "Ok", accepted: 7, ignored_by_reason })).toMatchObject({
      counts: { accepted: 7, ignored: { a: 1, unlisted: 2 } },
    });
    expect(judged(200, { status: "Ok", accepted: 10, ignored_by_reason })).toMatchObject({
      counts: { accepted: 10, ignored: {} },
    });
    expect(judged(200, { status: "Ok", accepted: -1 })).toMatchObject({ counts: { accepted: 10 } });
  });

  test("of a server that does not count takes all rows", () => {
    expect(judged(200, { status: "Ok" })).toMatchObject({ counts: { sent: 10, accepted: 10, ignored: {} } });
    expect(judged(200, { status: 1 })).toMatchObject({ counts: { accepted: 10 } });
  });

  test("of anything else takes none", () => {
    for (const body of ["<html>", "", "[]", { status: "down" }]) expect(judged(200, body).is).toBe("refused");
  });
});

describe("another answer", () => {
  test("is worth another attempt when the server ails", () => {
    expect(judged(503, { detail: "full" }, { "retry-after": "7" })).toEqual({
      is: "later",
      reason: "503: full",
      waitMs: 7000,
    });
    expect(judged(429)).toEqual({ is: "later", reason: "429", waitMs: 0 });
    expect(judged(408).is).toBe("later");
    expect(judged(500, "<html>oops</html>")).toEqual({ is: "later", reason: "500", waitMs: 0 });
    expect(judged(503, "", { "retry-after": "999999" })).toMatchObject({ waitMs: 300_000 });
  });

  test("is final when it says so", () => {
    expect(judged(401, { detail: "API key is\nwrong." })).toEqual({
      is: "refused",
      reason: "401: API key is wrong.",
    });
    expect(judged(400, "bad")).toEqual({ is: "refused", reason: "400: bad" });
    expect(judged(413, { detail: "20 MB" })).toEqual({ is: "too large", reason: "413: 20 MB" });
    expect(judged(301, "", { location: "https://b.example/batch/" })).toEqual({
      is: "refused",
      reason: "301: it points to https://b.example/batch/; use that as --host",
    });
  });
});
