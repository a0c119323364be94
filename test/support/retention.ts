// A check for expired events, as a server makes it whose clock runs steadily.

import { isPassDue } from "../../src/event_retention/store.ts";
import { expireEvents, type Looked, type PassOptions } from "../../src/event_retention/worker.ts";
import { openPass } from "../../src/storage/postgres/passes.ts";

/** What became of a pass, if one is due or `atOnce`. `stopping` stops the server. @throws what the pass throws. */
export async function expireOnce(
  options: PassOptions,
  atOnce = false,
): Promise<Looked | { is: "not due" } | { is: "stopped" }> {
  const { sql, stopping } = options;
  let isDue = atOnce;
  const made = Promise.withResolvers<Looked | { is: "not due" } | { is: "stopped" }>();
  const checks = openPass({
    ...options,
    id: "event retention",
    name: "expiring",
    pollMs: 1e6,
    due: (now) => sql`(${isDue}::boolean OR ${isPassDue(sql, now)})`,
    pass: async ({ masked_since }, signal) => {
      const looking = expireEvents({ ...options, stopping: signal }, masked_since);
      made.resolve(
        looking.catch((thrown: unknown) => (signal.aborted ? { is: "stopped" } : Promise.reject(thrown))),
      );
      isDue = false;
      return (await looking).is === "passed";
    },
  });
  let closing: Promise<void> | undefined;
  stopping.addEventListener("abort", () => (closing = checks.close()));
  await checks.poll();
  await checks.settle();
  await (closing ?? checks.close());
  made.resolve({ is: "not due" });
  return await made.promise;
}
