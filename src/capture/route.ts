// How events are sent: POST on any of PostHog's capture paths, with and without a slash. Holds no logic of
// its own.

import { Elysia } from "elysia";
import type { Clock } from "../core/clock.ts";
import { Fault, type FaultCode } from "../core/fault.ts";
import { problemResponse } from "../http/problem.ts";
import { inflateBody, receiveBody } from "./body.ts";
import { type CaptureOptions, type Captured, capture } from "./pipeline.ts";

export interface CaptureRouteOptions extends CaptureOptions {
  bodyBytesMax: number;
  clock: Clock;
  refused(code: FaultCode): void;
  seconds(value: number): void;
}

const paths = ["/capture", "/batch", "/e", "/track", "/engage", "/i/v0/e"];
const okHeaders = { "content-type": "application/json" };

export function captureRoutes(options: CaptureRouteOptions) {
  const app = new Elysia({ name: "capture" });
  for (const path of paths) {
    for (const spelling of [path, `${path}/`]) {
      app.post(spelling, ({ request }) => answer(request, options), {
        parse: "none",
        detail: { hide: true },
      });
    }
  }
  return app;
}

async function answer(request: Request, options: CaptureRouteOptions): Promise<Response> {
  const started = options.clock.elapsed();
  try {
    const query = queryOf(request.url);
    const wire = await receiveBody(request, options.bodyBytesMax);
    const hints = { encoding: request.headers.get("content-encoding"), query: query.get("compression") };
    const captured = await capture(await inflateBody(wire, hints), options);
    if (query.get("beacon") === "1") return new Response(null, { status: 204 });
    return new Response(query.get("verbose") === "1" ? verbose(captured) : '{"status":"Ok"}', {
      headers: okHeaders,
    });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    options.refused(thrown.code);
    return problemResponse(thrown);
  } finally {
    options.seconds((options.clock.elapsed() - started) / 1000);
  }
}

const noQuery = new URLSearchParams();

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf("?");
  return mark < 0 ? noQuery : new URLSearchParams(url.slice(mark + 1));
}

function verbose({ accepted, ignored }: Captured): string {
  const byReason = Object.fromEntries(ignored.counts);
  const list = ignored.list.toSorted((a, b) => a.index - b.index);
  return JSON.stringify({ status: "Ok", accepted, ignored: list, ignored_by_reason: byReason });
}
