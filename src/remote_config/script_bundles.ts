// A project's configuration and posthog-js as one script, with a cache of the compressed ones.

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { remoteConfigLimits } from "./limits.ts";

const compress = promisify(gzip);

export class ScriptBundles {
  /** By the configuration's script; the least recently used one is first. */
  readonly #gzipped = new Map<string, Promise<Uint8Array>>();

  /** The script `config` followed by `library`, with gzip when the client accepts it. `library` must not change. */
  async reply(
    request: Request,
    config: string,
    library: Uint8Array,
    headers: Record<string, string>,
  ): Promise<Response> {
    const vary = { ...headers, vary: "accept-encoding" };
    if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) {
      return new Response(Buffer.concat([Buffer.from(config), library]), { headers: vary });
    }
    const bytes = await this.#compressed(config, library);
    return new Response(new Uint8Array(bytes), { headers: { ...vary, "content-encoding": "gzip" } });
  }

  #compressed(config: string, library: Uint8Array): Promise<Uint8Array> {
    const known = this.#gzipped.get(config);
    this.#gzipped.delete(config);
    const made = known ?? compress(Buffer.concat([Buffer.from(config), library]));
    this.#gzipped.set(config, made);
    const [oldest] = this.#gzipped.keys();
    if (this.#gzipped.size > remoteConfigLimits.scriptBundlesMax && oldest !== undefined)
      this.#gzipped.delete(oldest);
    return made;
  }
}
