// The settings of an operator, read from the environment variables that main passes, and checked.

import { wrongNetwork } from "./access/client_address.ts";
import { UserError } from "./core/fault.ts";
import { wrongKey } from "./core/id.ts";
import { limits } from "./core/limits.ts";
import { logLevels } from "./core/log.ts";
import { withoutLast } from "./core/trim.ts";
import { httpLimits } from "./http/limits.ts";

const captureAcks = ["journal", "stored", "memory"] as const;

export type Config = ReturnType<typeof readConfig>;

type Environment = Record<string, string | undefined>;

/**
 * Reads the variables of the README's configuration table.
 * @param terminal whether logs go to a terminal, which decides the default of LOG_FORMAT.
 * @throws UserError with one line for each wrong value.
 */
export function readConfig(environment: Environment, terminal = false) {
  const read = new Reader(environment);
  const config = {
    host: read.text("HOST") ?? "127.0.0.1",
    port: read.integer("PORT", 8000, 0, 65_535),
    dataDir: read.text("DATA_DIR") ?? "./data",
    databaseUrl: read.url("DATABASE_URL", ["postgres:", "postgresql:"]),
    clickhouseUrl: read.url("CLICKHOUSE_URL", ["http:", "https:"]),
    /** The cluster over which the tables of CLICKHOUSE_URL are spread. */
    clickhouseCluster: read.matching("CLICKHOUSE_CLUSTER", /^[\w.-]{1,100}$/, "the name of a cluster"),
    captureAck: read.choice("CAPTURE_ACK", captureAcks) ?? "journal",
    flushIntervalMs: read.integer("FLUSH_INTERVAL_MS", 1000, 10, 3_600_000),
    workers: read.optionalInteger("WORKERS", 1, 256),
    managementRateLimit: read.optionalInteger("MANAGEMENT_RATE_LIMIT", 1, 1_000_000),
    /** Default: as many as the cores of the store allow. */
    queryCpuSecondsMax: read.optionalInteger("QUERY_CPU_SECONDS_MAX", 1, 1_000_000),
    exportFileDir: read.text("EXPORT_FILE_DIR"),
    idleTimeoutSeconds: read.integer("IDLE_TIMEOUT_SECONDS", httpLimits.idleSecondsUsual, 5, 240),
    bodyBytesMax: read.integer("BODY_BYTES_MAX", limits.bodyBytesUsual, 1024, 1_073_741_824),
    journalBytesMax: read.integer("JOURNAL_BYTES_MAX", 10_737_418_240, 1_048_576, Number.MAX_SAFE_INTEGER),
    bootstrapProjectApiKey: read.key("BOOTSTRAP_PROJECT_API_KEY"),
    bootstrapPersonalApiKey: read.key("BOOTSTRAP_PERSONAL_API_KEY"),
    bootstrapEmail: read.matching("BOOTSTRAP_EMAIL", emailShape, "an e-mail address"),
    allowPrivateDestinations: read.flag("ALLOW_PRIVATE_DESTINATIONS"),
    secretKey: read.secret("SECRET_KEY"),
    /** The previous key: what it sealed is sealed again at the start. */
    secretKeyBefore: read.secret("SECRET_KEY_BEFORE"),
    siteUrl: read.url("SITE_URL", ["http:", "https:"]),
    smtpUrl: read.url("SMTP_URL", ["smtp:", "smtps:"]),
    emailFrom: read.matching("EMAIL_FROM", senderShape, "an e-mail address, or a name and <an address>"),
    /** The language model's server; undefined without its URL and without a key. */
    modelServer: readModelServer(read),
    /** Access for backups: an S3-compatible store, with the variable names of Amazon's own tools. */
    bucketAccess: {
      accessKeyId: read.text("AWS_ACCESS_KEY_ID"),
      secretAccessKey: read.text("AWS_SECRET_ACCESS_KEY"),
      sessionToken: read.text("AWS_SESSION_TOKEN"),
      region: read.text("AWS_REGION") ?? "us-east-1",
      endpoint: read.url("AWS_ENDPOINT_URL", ["http:", "https:"]),
    },
    recordingRetentionDays: read.integer("RECORDING_RETENTION_DAYS", 90, 1, 3650),
    /** Days after which events expire; undefined: never, except in projects with a setting of their own. */
    eventRetentionDays: read.optionalInteger("EVENT_RETENTION_DAYS", 1, limits.retentionDaysMax),
    /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
    trustedProxies: read.networks("TRUSTED_PROXIES"),
    /** The bearer token of /metrics; undefined: anybody may read them. 16 random characters cannot be guessed. */
    metricsToken: read.key("METRICS_TOKEN", 16, 256),
    logLevel: read.choice("LOG_LEVEL", logLevels) ?? "info",
    logFormat: read.choice("LOG_FORMAT", ["pretty", "json"] as const) ?? (terminal ? "pretty" : "json"),
  };
  if (config.clickhouseCluster && !config.clickhouseUrl)
    read.wrong("CLICKHOUSE_CLUSTER: needs CLICKHOUSE_URL, the address of a server of the cluster");
  if (config.databaseUrl && !config.secretKey)
    read.wrong("SECRET_KEY: must be set when DATABASE_URL is, so that every process can read stored secrets");
  if (config.secretKeyBefore && !config.secretKey)
    read.wrong("SECRET_KEY_BEFORE: needs SECRET_KEY, the key that replaces it");
  for (const name of ["QUERY_SECONDS_MAX", "QUERY_THREADS_MAX"])
    if (read.text(name)) read.wrong(`${name}: replaced by QUERY_CPU_SECONDS_MAX, what one question may cost`);
  if (/[*?{}]/.test(config.exportFileDir ?? ""))
    read.wrong("EXPORT_FILE_DIR: must not contain * ? { }, which ClickHouse reads as a pattern of names");
  read.finish();
  return { ...config, misspelt: read.misspelt() };
}

function readModelServer(read: Reader) {
  const url = read.url("OPENAI_BASE_URL", ["http:", "https:"]);
  const key = read.text("OPENAI_API_KEY");
  const model = read.text("OPENAI_MODEL") ?? "gpt-4o-mini";
  if (url === undefined && key === undefined) return undefined;
  return { url: withoutLast(url ?? "https://api.openai.com/v1", "/"), key, model };
}

const emailShape = /^[^\s@]+@[^\s@]+$/;
/** An address, or a name and an address: `Reports <reports@example.com>`. */
// oxlint-disable-next-line no-control-regex
const senderShape = /^(?:[^\x00-\x1f<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/;

/** Whether two names differ by one character too many, too few or wrong, or by two that are swapped. */
function isOneSlip(name: string, other: string): boolean {
  if (Math.abs(name.length - other.length) > 1) return false;
  let from = 0;
  while (from < name.length && name[from] === other[from]) from++;
  let [end, otherEnd] = [name.length, other.length];
  while (end > from && otherEnd > from && name[end - 1] === other[otherEnd - 1])
    [end, otherEnd] = [end - 1, otherEnd - 1];
  const [left, otherLeft] = [name.slice(from, end), other.slice(from, otherEnd)];
  const areSwapped = left.length === 2 && left === `${otherLeft[1]}${otherLeft[0]}`;
  return areSwapped || Math.max(left.length, otherLeft.length) === 1;
}

/** The fewest characters of a secret: 16 hexadecimal digits have 64 bits. */
const secretCharsMin = 16;

/** Reads variables and collects errors, so that one start reports every wrong value. */
class Reader {
  readonly #environment: Environment;
  readonly #errors: string[] = [];
  /** The names of all settings, after each was read. */
  readonly #known = new Set<string>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  wrong(error: string): void {
    this.#errors.push(error);
  }

  finish(): void {
    if (this.#errors.length === 0) return;
    throw new UserError(`wrong configuration:\n  ${this.#errors.join("\n  ")}`);
  }

  /** Variables that are no settings, each with the setting whose name is one slip away. */
  misspelt(): [name: string, setting: string][] {
    return Object.keys(this.#environment).flatMap((name) => {
      if (this.#known.has(name)) return [];
      const setting = [...this.#known].find((known) => isOneSlip(name, known));
      return setting === undefined ? [] : [[name, setting] as [string, string]];
    });
  }

  /** An empty variable counts as unset: compose files turn missing variables into empty ones. */
  text(name: string): string | undefined {
    this.#known.add(name);
    return this.#environment[name]?.trim() || undefined;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    return this.optionalInteger(name, min, max) ?? fallback;
  }

  optionalInteger(name: string, min: number, max: number): number | undefined {
    const isRight = (text: string) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;
    const text = this.#checked(name, isRight, `a whole number from ${min} to ${max}`);
    return text === undefined ? undefined : Number(text);
  }

  /** Addresses and networks, separated by commas or blanks. */
  networks(name: string): string[] {
    const entries = (this.text(name) ?? "").split(/[\s,]/).filter((entry) => entry !== "");
    const wrong = entries.map(wrongNetwork).filter((reason) => reason !== undefined);
    for (const reason of wrong) this.wrong(`${name}: ${reason}`);
    return entries;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const isRight = (text: string) => (choices as readonly string[]).includes(text);
    return this.#checked(name, isRight, `one of ${choices.join(", ")}`) as T | undefined;
  }

  flag(name: string): boolean {
    return this.choice(name, ["0", "1"] as const) === "1";
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const isRight = (text: string) => URL.canParse(text) && protocols.includes(new URL(text).protocol);
    const expected = `a URL starting with ${protocols.map((p) => `${p}//`).join(" or ")}`;
    return this.#checked(name, isRight, expected, true);
  }

  key(name: string, charsMin?: number, charsMax?: number): string | undefined {
    const text = this.text(name);
    const wrong = text === undefined ? undefined : wrongKey(text, charsMin, charsMax);
    if (wrong === undefined) return text;
    this.wrong(`${name}: ${wrong}`);
    return undefined;
  }

  /** A key for encryption, which must not be guessable: `openssl rand -hex 32` makes one. */
  secret(name: string): string | undefined {
    const expected = `at least ${secretCharsMin} characters, better 64 random ones`;
    return this.#checked(name, ({ length }) => length >= secretCharsMin, expected, true);
  }

  /** @param what the error names it. */
  matching(name: string, shape: RegExp, what: string): string | undefined {
    return this.#checked(name, (text) => shape.test(text), what);
  }

  /**
   * Returns the text; when it is invalid, undefined, with an error that names what is expected.
   * @param isSecret whether it may contain a password, which the error must not show.
   */
  #checked(
    name: string,
    isRight: (text: string) => boolean,
    expected: string,
    isSecret = false,
  ): string | undefined {
    const text = this.text(name);
    if (text === undefined || isRight(text)) return text;
    this.wrong(`${name}: expected ${expected}${isSecret ? "" : `, got "${text}"`}`);
    return undefined;
  }
}
