import { afterAll, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { limits } from "../../../src/core/limits.ts";
import { pageParameters, readQuery } from "../../../src/http/fields/query.ts";
import { pageLinks, pageReply, reachedAt, requestUrl, streamedPage } from "../../../src/http/pages/page.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey, startServer } from "../../support/server.ts";

afterAll(cleanUp);

const read = (query: string) => readQuery(pageParameters("Rows"), new URLSearchParams(query));
const url = (query: string): URL => new URL(`https://sluice.example/api/projects/${query}`);

test("a page has the first hundred rows by default", () => {
  expect(read("")).toEqual({ limit: limits.pageDefault, offset: 0 });
  expect(read("limit=2&offset=7")).toEqual({ limit: 2, offset: 7 });
});

test("a limit or offset that is no whole number within its bounds is refused, and named", () => {
  const refused = (query: string): unknown => {
    try {
      return read(query);
    } catch (thrown) {
      return thrown instanceof Fault ? [thrown.code, thrown.attr] : thrown;
    }
  };
  for (const text of ["abc", "", "1.5", "1e3", "0x10", "NaN", "1,000", " "]) {
    expect([text, refused(`limit=${text}`)]).toEqual([text, ["invalid_input", "limit"]]);
    expect([text, refused(`offset=${text}`)]).toEqual([text, ["invalid_input", "offset"]]);
  }
  expect(refused("limit=0")).toEqual(["min_value", "limit"]);
  expect(refused("limit=-1")).toEqual(["min_value", "limit"]);
  expect(refused("offset=-1")).toEqual(["min_value", "offset"]);
  expect(refused("limit=10001")).toEqual(["max_value", "limit"]);
  expect(refused("offset=99999999999999999999")).toEqual(["max_value", "offset"]);
  expect(refused(`limit=${"9".repeat(5000)}`)).toEqual(["max_string_length", "limit"]);
});

test("a page may have ten thousand rows", () => {
  expect(read("limit=10000&offset=1000000000000")).toEqual({ limit: 10_000, offset: 1_000_000_000_000 });
});

test("links are absolute, keep other keys, and sort them", () => {
  const links = pageLinks(url("?search=a%20b&limit=2&event=x&offset=4"), { limit: 2, offset: 4 }, 10);
  expect(links.next).toBe("https://sluice.example/api/projects/?event=x&limit=2&offset=6&search=a+b");
  expect(links.previous).toBe("https://sluice.example/api/projects/?event=x&limit=2&offset=2&search=a+b");
});

test("the first page has no previous one, and names limit and offset of the next", () => {
  expect(pageLinks(url(""), { limit: 100, offset: 0 }, 101)).toEqual({
    next: "https://sluice.example/api/projects/?limit=100&offset=100",
    previous: null,
  });
});

test("the last page has no next one, and a previous one at the start has no offset", () => {
  expect(pageLinks(url("?limit=5&offset=3"), { limit: 5, offset: 3 }, 8)).toEqual({
    next: null,
    previous: "https://sluice.example/api/projects/?limit=5",
  });
});

test("a page past the end still leads back", () => {
  const reply = pageReply(url("?limit=5&offset=50"), { limit: 5, offset: 50 }, { count: 8, rows: [] });
  expect(reply).toEqual({
    count: 8,
    next: null,
    previous: "https://sluice.example/api/projects/?limit=5&offset=45",
    results: [],
  });
});

test("a path without a last slash stays without one", () => {
  const bare = new URL("http://sluice.example/api/projects");
  expect(pageLinks(bare, { limit: 1, offset: 0 }, 2).next).toBe(
    "http://sluice.example/api/projects?limit=1&offset=1",
  );
});

test("results that are JSON already go out as they are", async () => {
  async function* pieces(...texts: string[]) {
    for (const text of texts) yield Buffer.from(text);
  }
  const sent = async (count: number, ...texts: string[]): Promise<string> =>
    await (await streamedPage(url(""), { limit: 2, offset: 0 }, count, pieces(...texts))).text();
  expect(await sent(2, ',{"a":1.0}', ',{"a":12345678901234567890}')).toBe(
    '{"count":2,"next":null,"previous":null,"results":[{"a":1.0},{"a":12345678901234567890}]}',
  );
  expect(await sent(0)).toEndWith('"results":[]}');
  expect(await sent(0, "")).toEndWith('"results":[]}');
});

test("links have the protocol of the request to the proxy", () => {
  const asked = (proto: string) =>
    requestUrl(new Request("http://sluice.example/a?b=1", { headers: { "x-forwarded-proto": proto } })).href;
  expect(asked("https")).toBe("https://sluice.example/a?b=1");
  expect(asked("javascript")).toBe("http://sluice.example/a?b=1");
});

test("the configured address is used, whatever a request claims", () => {
  const headers = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "http",
  };
  const asked = (site?: string) => {
    const request = new Request("http://10.0.0.7:8000/api/projects/?a=b%20c", { headers });
    if (site !== undefined) reachedAt(request, site);
    return pageLinks(requestUrl(request), { limit: 1, offset: 1 }, 3).next;
  };
  expect(asked("https://sluice.example/")).toBe(
    "https://sluice.example/api/projects/?a=b+c&limit=1&offset=2",
  );
  expect(asked("https://example.com/sluice")).toStartWith("https://example.com/sluice/api/projects/?");
  expect(asked()).toStartWith("http://10.0.0.7:8000/api/projects/?");
});

test("a key in the query is in no link", () => {
  const request = new Request("http://sluice.example/api/projects/?personal_api_key=phx_secret&a=b");
  const { next, previous } = pageLinks(requestUrl(request), { limit: 1, offset: 1 }, 3);
  expect(next).toBe("http://sluice.example/api/projects/?a=b&limit=1&offset=2");
  expect(previous).toBe("http://sluice.example/api/projects/?a=b&limit=1");
});

test("a server with a SITE_URL links there, and never to the host a request names", async () => {
  const server = await startServer({ SITE_URL: "https://sluice.example" });
  const headers = { authorization: `Bearer ${personalKey}`, "x-forwarded-host": "evil.example" };
  const reply = await fetch(`${server.url}/api/projects/?limit=1&offset=1`, { headers });
  expect(await reply.json()).toMatchObject({ previous: "https://sluice.example/api/projects/?limit=1" });
  const keyed = await fetch(`${server.url}/api/projects?offset=1&personal_api_key=${personalKey}`);
  expect(await keyed.json()).toMatchObject({ previous: "https://sluice.example/api/projects?limit=100" });
});
