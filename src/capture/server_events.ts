// Events that the server sends itself, for changes that its API makes. They go the way of every other event.

import { toBytes } from "../core/bytes.ts";
import { DeadlineError, withinMs } from "../core/clock.ts";
import type { PersonParts } from "../persons/parts.ts";
import type { CaptureOptions } from "./capture_options.ts";
import { captureLimits } from "./limits.ts";
import { capture } from "./pipeline.ts";
import { ArenaPool, ReceivedBody } from "./receive/received_body.ts";

/**
 * Makes the function that persons send their changes with. The event is on disk when it resolves, whatever the `ack` of
 * the capture routes is.
 */
export function openServerEvents(options: CaptureOptions): PersonParts["send"] {
  const arenas = new ArenaPool(captureLimits.arenaBodyBytesMin);
  return async ({ project_id, event, distinct_id, properties, waitMsMax }) => {
    const { journal, keys, clock } = options;
    const timestamp = new Date(clock.now()).toISOString();
    const bytes = toBytes(JSON.stringify({ api_key: serverKey, event, distinct_id, timestamp, properties }));
    const body = new ReceivedBody(arenas, bytes);
    const serverKeys = {
      find: () => project_id,
      admit: () => Promise.resolve(project_id),
      records: (id: number) => keys.records(id),
      recordsConsole: (id: number) => keys.recordsConsole(id),
      cookieless: (id: number) => keys.cookieless(id),
      // A change that was made through the API is no event of a client's.
      dailyEventQuota: () => Number.POSITIVE_INFINITY,
      close: () => Promise.resolve(),
    };
    try {
      const input = { body, sent_at: Number.NaN, allowsNameless: false };
      const { accepted } = await capture(input, { ...options, keys: serverKeys, ack: "journal" });
      if (accepted !== 1) throw new Error(`an event of the server's own was ignored: ${event}`);
    } finally {
      body.close();
    }
    const isShown = withinMs(journal.stored(journal.live), waitMsMax).then(() => true);
    return await isShown.catch((thrown: unknown) => {
      if (thrown instanceof DeadlineError) return false;
      throw thrown;
    });
  };
}

/** Instead of a client's key; it opens nothing, since the project is known. */
const serverKey = "server";
