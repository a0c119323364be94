// What other servers said: bounded, storable, without secrets.

import { expect, test } from "bun:test";
import { foreignText, foreignValue, secretsInUrl, storableText } from "../../src/core/foreign_text.ts";

const token = "phx_s3cr+t/=ünd";
const clean = (text: string, secrets: string[] = [token]) => foreignText(text, { secrets, charsMax: 300 });

test("a text is one line that Postgres stores and a terminal shows", () => {
  expect(storableText("a\0b\ud800c\u001b[31md\r\ne\u202ef\u0085", 300)).toBe(
    "a\uFFFDb\uFFFDc\uFFFD[31md  e\uFFFDf\uFFFD",
  );
  expect(storableText("😀😀", 3)).toBe("😀\uFFFD");
});

test("a text is cut to its bound", () => {
  expect(clean("x".repeat(2_000_000))).toBe("x".repeat(300));
});

test("a secret is hidden in every spelling", () => {
  const inner = Buffer.from(token).toString("base64");
  const spellings = [
    token,
    encodeURIComponent(token),
    encodeURIComponent(token).replaceAll(/%../g, (one) => one.toLowerCase()),
    new URLSearchParams({ a: token }).toString().slice(2),
    inner,
    Buffer.from(token).toString("base64url"),
    Buffer.from(token).toString("hex"),
    Buffer.from(`user:${token}`).toString("base64"),
    Buffer.from(`usr:${token}`).toString("base64"),
    Buffer.from(`me:${token}.`).toString("base64"),
    JSON.stringify(token),
    JSON.stringify(token).replaceAll("/", "\\/"),
  ];
  for (const spelling of spellings) {
    const shown = clean(`no such key: ${spelling}; try again`);
    expect(shown).toStartWith("no such key: ");
    expect(shown).toEndWith("; try again");
    expect(shown).toContain("[hidden]");
    expect(shown).not.toContain(token);
    // A character or two that share their bits with what stands beside may stay.
    expect(shown.length).toBeLessThan("no such key: ; try again".length + "[hidden]".length + 14);
  }
});

test("a secret that was cut off at the end is hidden too", () => {
  for (let length = 4; length < token.length; length++) {
    expect(clean(`no key ${token.slice(0, length)}`)).toBe("no key [hidden]");
  }
  // Repetitions that shrink when they are hidden pull what was cut into sight.
  const long = "k".padEnd(3000, "0123456789");
  const shown = clean(long.repeat(10), [long]);
  expect(shown).toBe("[hidden]".repeat(6));
});

test("a short secret is hidden where it stands alone", () => {
  expect(clean('role "bob" does not exist, bobby', ["bob"])).toBe('role "[hidden]" does not exist, bobby');
});

test("a secret with control characters between its letters hides the whole text", () => {
  expect(clean([..."no phx_s3cr+t/=ünd"].join("\0"))).toBe("[hidden]");
});

test("authorizations and signatures are hidden, whoever made them", () => {
  expect(clean("got Bearer abcdefghijklmnop.q-r and Basic authentication", [])).toBe(
    "got Bearer [hidden] and Basic authentication",
  );
  expect(clean("SharedKey account:c2lnbmF0dXJlIG9mIGl0 at ?sv=1&sig=abc%2Fdef%3D&x=1", [])).toBe(
    "SharedKey [hidden] at ?sv=1&sig=[hidden]&x=1",
  );
  expect(clean("Credential=AKIA/2026/s3, Signature=0123456789abcdef0123", [])).toBe(
    "Credential=[hidden], Signature=[hidden]",
  );
});

test("texts within a JSON value are cleaned, names and numbers stay", () => {
  const value = { result: "ok\0", data: [{ key: `a ${token}`, value: 1, none: null, yes: true }] };
  expect(foreignValue(value, { secrets: [token], charsMax: 300 })).toEqual({
    result: "ok\uFFFD",
    data: [{ key: "a [hidden]", value: 1, none: null, yes: true }],
  });
});

test("an address tells what of it is secret", () => {
  expect(
    secretsInUrl("https://u%20ser:pa%2Fss@host/services/T0/aVeryLongSecretStep?key=abcdefgh&v=1"),
  ).toEqual(["u ser", "pa/ss", "aVeryLongSecretStep", "abcdefgh"]);
  expect(secretsInUrl("not an address")).toEqual([]);
});
