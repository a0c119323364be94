// Opens the door: binds the application to its address. Decides nothing about what is answered.

import { type AnyElysia, Elysia } from "elysia";
import { UserError } from "../core/fault.ts";
import { limits } from "../core/limits.ts";
import { reasonOf } from "../core/log.ts";

export interface Listening {
  /** e.g. http://127.0.0.1:8000 */
  url: string;
  /** Accepts nothing new; resolves when what is in flight has its answer. */
  stop(): Promise<void>;
}

/** An application that is found by any name: of one letter, too, or of none, as health checks of HTTP/1.0 ask. */
export function openDoor() {
  // Elysia's default looks for the path behind the eleventh character.
  const app = new Elysia({ handler: { standardHostname: false } });
  return app.wrap((handle, request) =>
    request.url.startsWith("/") ? () => handle(placed(request)) : handle,
  );
}

/** The same request with an address that is whole. */
function placed(request: Request): Request {
  return new Request(`http://localhost${request.url}`, request);
}

/** @throws UserError when the address cannot be had. */
export function listen(
  app: AnyElysia,
  { host, port, bodyBytesMax }: { host: string; port: number; bodyBytesMax: number },
): Listening {
  try {
    app.listen({
      hostname: host,
      port,
      // Elysia's default lets a second server take every other connection of the first one, silently.
      reusePort: false,
      // Bun's page for programmers shows source text to whoever asks.
      development: false,
      // Ours answers first, with a body that says why; Bun's own would be an empty 413.
      maxRequestBodySize: bodyBytesMax * (limits.drainFactor + 1),
      idleTimeout: limits.idleSecondsMax,
    });
  } catch (thrown) {
    const inUse = thrown instanceof Error && "code" in thrown && thrown.code === "EADDRINUSE";
    const why = inUse ? "it is in use; set PORT to another" : reasonOf(thrown);
    throw new UserError(`cannot listen on ${host}:${port}: ${why}`);
  }
  const shown = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${app.server?.port ?? port}`,
    stop: async () => {
      await app.stop();
    },
  };
}
