// The settings of an operator, read from the environment variables that main passes, and checked.

import { limits } from "./core/limits.ts";
import { logLevels } from "./core/log.ts";
import { withoutLast } from "./core/trim.ts";
import { httpLimits } from "./http/limits.ts";
import { type Environment, SettingReader } from "./setting_reader.ts";

const captureAcks = ["journal", "stored", "memory"] as const;

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the variables of the README's configuration table.
 * @param terminal whether logs go to a terminal, which decides the default of LOG_FORMAT.
 * @throws UserError with one line for each wrong value.
 */
export function readConfig(environment: Environment, terminal = false) {
  const read = new SettingReader(environment);
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
    /** The folder or address of backups, for events that are stored; undefined: none. */
    journalArchive: read.text("JOURNAL_ARCHIVE"),
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
  if (config.journalArchive !== undefined && (config.databaseUrl ?? config.clickhouseUrl) !== undefined)
    read.wrong("JOURNAL_ARCHIVE: needs embedded stores, since only their backups are restored with it");
  if (config.databaseUrl && !config.secretKey)
    read.wrong("SECRET_KEY: must be set when DATABASE_URL is, so that every process can read stored secrets");
  if (config.siteUrl !== undefined && !/^https?:\/\/[^/?#@]+\/?$/i.test(config.siteUrl))
    read.wrong("SITE_URL: must have no path, since pages link to the root of their host (docs/proxies.md)");
  if (config.secretKeyBefore && !config.secretKey)
    read.wrong("SECRET_KEY_BEFORE: needs SECRET_KEY, the key that replaces it");
  for (const name of ["QUERY_SECONDS_MAX", "QUERY_THREADS_MAX"])
    if (read.text(name)) read.wrong(`${name}: replaced by QUERY_CPU_SECONDS_MAX, what one question may cost`);
  if (/[*?{}]/.test(config.exportFileDir ?? ""))
    read.wrong("EXPORT_FILE_DIR: must not contain * ? { }, which ClickHouse reads as a pattern of names");
  read.finish();
  return { ...config, misspelt: read.misspelt() };
}

function readModelServer(read: SettingReader) {
  const url = read.url("OPENAI_BASE_URL", ["http:", "https:"]);
  const key = read.text("OPENAI_API_KEY");
  const model = read.text("OPENAI_MODEL") ?? "gpt-4o-mini";
  if (url === undefined && key === undefined) return undefined;
  return { url: withoutLast(url ?? "https://api.openai.com/v1", "/"), key, model };
}

const emailShape = /^[^\s@<>"]+@[^\s@<>"]+$/;
/** An address, or a name and an address: `Reports <reports@example.com>`. */
// oxlint-disable-next-line no-control-regex
const senderShape = /^(?:[^\x00-\x1f<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/;
