// The routes of a worker: captures, and everything else forwarded to worker 1.

import { forwardTo } from "../../http/forward.ts";
import { openApplication } from "../../http/listen.ts";
import { openProblems } from "../../http/problem.ts";
import type { Log } from "../../core/log.ts";
import { type CaptureRouteOptions, captureRoutes, isCapture } from "../route.ts";

export interface WorkerRouteOptions extends Omit<CaptureRouteOptions, "failed"> {
  /** Where worker 1 answers: http://127.0.0.1:PORT. */
  inside: string;
  log: Log;
}

export function workerRoutes({ inside, log, ...capture }: WorkerRouteOptions) {
  const app = openApplication();
  const problem = openProblems({ log, routes: () => app.routes });
  const failed: CaptureRouteOptions["failed"] = (error, request) =>
    problem({ error, code: "UNKNOWN", request });
  const forward = forwardTo(inside);
  return app
    .onError((failure) => problem(failure))
    .wrap((handle, request) => (isCapture(request) ? handle : forward))
    .use(captureRoutes({ ...capture, failed }));
}
