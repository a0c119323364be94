// Waits for older servers before a migration that they are not compatible with. The lock of migrations is not held
// meanwhile: an older server may start again, or a newer one may migrate first.

import { type Clock, sleep, systemClock } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import type { Log } from "../../core/log.ts";
import { openRepeatedLog, type RepeatedLog } from "../../work/repeated_log.ts";
import { storageLimits } from "../limits.ts";
import type { Postgres } from "../postgres/postgres.ts";
import { lastStops, type MigrationFiles } from "./files.ts";
import { listOlder } from "./versions_store.ts";

export interface OlderOptions {
  /** Whether no other server reaches these stores: nothing is waited for. */
  alone?: boolean;
  /** Names of journals whose processes have ended, as this process has their folders. */
  ownJournals?: readonly string[];
  /** Ends the wait, by throwing the signal's reason. */
  ending?: AbortSignal;
  clock?: Clock;
  /** Default: storageLimits.olderServersMsMax. */
  olderServersMsMax?: number;
}

/** Older servers, and the first file that they are not compatible with. */
export interface BlockingServers {
  /** Hosts and folders of their processes. */
  locations: string[];
  file: string;
}

export class OlderServers {
  readonly #options: OlderOptions;
  readonly #clock: Clock;
  readonly #log: RepeatedLog;
  #begun: number | undefined;

  constructor(options: OlderOptions, log: Log) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = openRepeatedLog(log, this.#clock);
  }

  /** The servers that block these unapplied files; undefined when there are none. */
  async findBlocking(sql: Postgres, pending: MigrationFiles): Promise<BlockingServers | undefined> {
    const { alone, ownJournals: own = [] } = this.#options;
    const stopping = [...pending.postgres, ...pending.clickhouse].filter(({ olderGoOn }) => !olderGoOn);
    if (alone || stopping.length === 0) return undefined;
    const since = new Date(this.#clock.now() - storageLimits.olderSeenMsMax);
    const locations = await listOlder(sql, lastStops(pending), { since, own });
    return locations.length > 0 ? { locations, file: stopping[0]!.path } : undefined;
  }

  /** @throws UserError when it has taken too long. */
  async wait({ locations, file }: BlockingServers): Promise<void> {
    const { ending, olderServersMsMax = storageLimits.olderServersMsMax } = this.#options;
    // The processes of one server have folders within the server's.
    const servers = locations.filter(
      (location) => !locations.some((folder) => location.startsWith(`${folder}/`)),
    );
    const count = `${servers.length} ${servers.length === 1 ? "server" : "servers"} of an older version`;
    const now = this.#clock.elapsed();
    this.#begun ??= now;
    if (now - this.#begun >= olderServersMsMax) {
      throw new UserError(
        `${count} cannot run beside ${file} and still ${servers.length === 1 ? "runs" : "run"} ` +
          `(${shown(servers)}); nothing was changed; stop the older servers, then: bun run sluice serve`,
      );
    }
    this.#log.warn("a migration is incompatible with running older servers; it waits until they stop", {
      file,
      count: servers.length,
      servers: shown(servers),
    });
    await sleep(olderAgainMs, ending);
    ending?.throwIfAborted();
  }
}

/** How often older servers are looked for while they are waited for, in ms: they publish once a second. */
const olderAgainMs = 1000;

function shown(servers: string[]): string {
  const { serversShownMax } = storageLimits;
  const more = servers.length - serversShownMax;
  return [...servers.slice(0, serversShownMax), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
