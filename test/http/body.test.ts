import { expect, test } from "bun:test";
import Type from "typebox";
import { Fault } from "../../src/core/fault.ts";
import { readFields } from "../../src/http/body.ts";
import { flag, integer, nullable, text } from "../../src/http/fields/field.ts";
import { httpLimits } from "../../src/http/limits.ts";
import { chargeBody, leaseFor, receiveSmall } from "../../src/work/bodies/charged_request.ts";
import { MemoryBudget } from "../../src/work/bodies/memory_budget.ts";

const schema = Type.Object({
  name: text(),
  count: nullable(integer(), { default: null }),
  open: flag({ default: true }),
  days: Type.Array(text(), { default: [] }),
  config: Type.Record(Type.String(), Type.Unknown(), { default: {} }),
});

function request(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream | undefined,
  type: string | undefined = "application/json",
): Request {
  const headers = new Headers(type === undefined ? {} : { "content-type": type });
  return new Request("http://localhost/", { method: "POST", headers, ...(body !== undefined && { body }) });
}

async function refusal(sent: Request): Promise<Pick<Fault, "code" | "detail" | "attr">> {
  const thrown: unknown = await readFields(sent, schema).catch((reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw new Error("it was taken");
  const { code, detail, attr } = thrown;
  return { code, detail, attr };
}

test("JSON is read, with and without parameters of its type", async () => {
  const whole = { name: "a", count: null, open: true, days: [], config: {} };
  expect(await readFields(request('{"name":" a "}'), schema)).toEqual(whole);
  expect(await readFields(request('{"name":"a"}', "Application/JSON; charset=utf-8"), schema)).toEqual(whole);
  expect(await readFields(request('{"name":"a"}'), schema, "replace")).toEqual({ name: "a" });
});

test("no body is an empty object, whatever its type", async () => {
  expect(await readFields(request(undefined), schema, "change")).toEqual({});
  expect(await readFields(request("", "text/plain"), schema, "change")).toEqual({});
  expect(await refusal(request(undefined))).toMatchObject({ code: "required", attr: "name" });
});

test("what is no JSON is a parse_error", async () => {
  for (const body of ["{", "{'a':1}", '{"a":1,}', "NaN", "\0", new Uint8Array([0x22, 0xff, 0x22])]) {
    const { code, detail, attr } = await refusal(request(body));
    expect({ code, attr }).toEqual({ code: "parse_error", attr: null });
    expect(detail).toMatch(/^JSON parse error - (?!JSON)/);
  }
  // Either answer is right, as long as there is one.
  expect(["parse_error", "invalid_input"]).toContain((await refusal(request("[".repeat(500_000)))).code);
});

test("another media type is refused, named as it was sent", async () => {
  expect(await refusal(request("a", "text/plain"))).toEqual({
    code: "unsupported_media_type",
    detail: 'Unsupported media type "text/plain" in request.',
    attr: null,
  });
});

test("a form is read as the JSON it stands for", async () => {
  const form = "name=a&count=2&open=off&days=mo&days=tu&config=%7B%22a%22%3A1%7D&other=1";
  const whole = { name: "a", count: 2, open: false, days: ["mo", "tu"], config: { a: 1 } };
  expect(await readFields(request(form, "application/x-www-form-urlencoded"), schema)).toEqual(whole);
  expect(
    await readFields(request("count=&open=", "application/x-www-form-urlencoded"), schema, "change"),
  ).toEqual({
    count: null,
  });
  const parts = new FormData();
  for (const [name, value] of new URLSearchParams(form)) parts.append(name, value);
  parts.append("name", new Blob(["file"]), "file.txt");
  const multipart = new Request("http://localhost/", { method: "POST", body: parts });
  expect(await readFields(multipart, schema)).toEqual(whole);
  expect(await refusal(request("no parts", "multipart/form-data; boundary=x"))).toMatchObject({
    code: "parse_error",
  });
});

test("a body of managementBodyBytesMax is read, one byte more is not, announced or chunked", async () => {
  const max = httpLimits.managementBodyBytesMax;
  const sized = (bytes: number) => `{"name":"a"}${" ".repeat(bytes - 12)}`;
  expect(await readFields(request(sized(max)), schema)).toMatchObject({ name: "a" });
  const announced = request(sized(max + 1));
  announced.headers.set("content-length", String(max + 1));
  const chunked = request(new Blob([sized(max + 1)]).stream());
  for (const sent of [announced, chunked]) expect((await refusal(sent)).code).toBe("payload_too_large");
});

test("a body that stays away is given up, and its sender told", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => {
      cancelled = true;
    },
  });
  const sent = new Request("http://localhost/", { method: "POST", body });
  const receiving = receiveSmall(sent, leaseFor(sent), 1000, 20);
  expect(await receiving.catch((thrown: Fault) => thrown.code)).toBe("upload_timeout");
  expect(cancelled).toBe(true);
});

test("a body's memory is acquired while it comes, refused past the budget, and returned when it is read", async () => {
  const memory = new MemoryBudget({ bytesMax: 120_000, shareBytesMax: 120_000 });
  const charged = (sent: Request) => {
    chargeBody(sent, memory);
    return sent;
  };
  expect(await readFields(charged(request('{"name":"a"}')), schema)).toMatchObject({ name: "a" });
  expect(memory.held).toBe(0);
  const long = charged(request(JSON.stringify({ name: "a", config: { b: "x".repeat(90_000) } })));
  expect(await readFields(long, schema)).toMatchObject({ name: "a" });
  expect(await refusal(charged(request("{")))).toMatchObject({ code: "parse_error" });
  expect(memory.held).toBe(0);
  const all = memory.open();
  all.acquire(90_000);
  const more = charged(request(JSON.stringify({ name: "x".repeat(20_000) })));
  expect(await refusal(more)).toMatchObject({ code: "unavailable" });
  all.close();
  expect(memory.held).toBe(0);
});

test("a body that comes byte by byte is read like every other", async () => {
  const text = JSON.stringify({ name: "a", config: { b: "x".repeat(200_000) } });
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      for (const to = Math.min(text.length, at + 5000); at < to; at++) {
        controller.enqueue(Uint8Array.of(text.charCodeAt(at)));
      }
      if (at === text.length) controller.close();
    },
  });
  expect(await readFields(request(body), schema)).toMatchObject({ config: { b: "x".repeat(200_000) } });
});
