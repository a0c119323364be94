// What an SDK is told when it starts: which features are on, and in which forms it may send. Never turns on
// what the server does not do.

/** As posthog-js and the mobile SDKs read it; anything left out counts as off, but for autocapture and surveys. */
export interface RemoteConfig {
  supportedCompression: readonly string[];
  /** False keeps an SDK from asking for flags at all. */
  hasFeatureFlags: boolean;
  /** Left out, posthog-js keeps autocapture off for new visitors. */
  autocapture_opt_out: boolean;
  autocaptureExceptions: boolean;
  errorTracking: { autocaptureExceptions: boolean; suppressionRules: readonly never[] };
  capturePerformance: boolean;
  captureDeadClicks: boolean;
  heatmaps: boolean;
  productTours: boolean;
  /** Left out, posthog-js waits for surveys and never calls back who asked for them. */
  surveys: boolean;
  logs: { captureConsoleLogs: boolean };
  conversations: boolean;
  sessionRecording: false | SessionRecordingConfig;
  /** Where events go; without it, /e/. */
  analytics: { endpoint: string };
  /** Asks autocapture for one `$elements_chain` text instead of a list of objects. */
  elementsChainAsString: boolean;
  defaultIdentifiedOnly: boolean;
  siteApps: readonly never[];
  toolbarParams: Readonly<Record<string, never>>;
  isAuthenticated: boolean;
}

/** How a browser records its sessions; what is not said here is the recorder's own choice. */
export interface SessionRecordingConfig {
  /** Where its pieces go. */
  endpoint: string;
  consoleLogRecordingEnabled: boolean;
  recorderVersion: "v2";
}

const sessionRecording: SessionRecordingConfig = {
  endpoint: "/s/",
  consoleLogRecordingEnabled: true,
  recorderVersion: "v2",
};

/** Of a project that wants no recordings. */
const withoutRecordings: RemoteConfig = {
  supportedCompression: ["gzip", "gzip-js"],
  hasFeatureFlags: false,
  autocapture_opt_out: false,
  autocaptureExceptions: false,
  errorTracking: { autocaptureExceptions: false, suppressionRules: [] },
  capturePerformance: false,
  captureDeadClicks: false,
  heatmaps: false,
  productTours: false,
  surveys: false,
  logs: { captureConsoleLogs: false },
  conversations: false,
  sessionRecording: false,
  analytics: { endpoint: "/i/v0/e/" },
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
};

/** The one source of every answer that tells a configuration. */
export function remoteConfig(records: boolean): RemoteConfig {
  return records ? { ...withoutRecordings, sessionRecording } : withoutRecordings;
}

/** The configuration of the project with this key. */
export function namedConfig(token: string, records: boolean): RemoteConfig & { token: string } {
  return { token, ...remoteConfig(records) };
}

/** The same as a script, which posthog-js loads first, since scripts pass where requests are blocked. */
export function remoteConfigScript(token: string, records: boolean): string {
  const entry = JSON.stringify({ config: namedConfig(token, records), siteApps: [] });
  return (
    "(function(w){w._POSTHOG_REMOTE_CONFIG=w._POSTHOG_REMOTE_CONFIG||{};" +
    `w._POSTHOG_REMOTE_CONFIG[${JSON.stringify(token)}]=${entry}})(window);\n`
  );
}

export interface NoFlags {
  flags: Readonly<Record<string, never>>;
  featureFlags: Readonly<Record<string, never>>;
  featureFlagPayloads: Readonly<Record<string, never>>;
  errorsWhileComputingFlags: false;
  requestId: string;
}

/** The flags of a project without flags, in the newer spelling (`flags`) and the older one beside it. */
export function noFlags(requestId: string): NoFlags {
  return {
    flags: {},
    featureFlags: {},
    featureFlagPayloads: {},
    errorsWhileComputingFlags: false,
    requestId,
  };
}

/** What a server SDK that computes flags itself gets of a project without flags. */
export const noFlagDefinitions = { flags: [], group_type_mapping: {}, cohorts: {} } as const;

/** What SDKs send that is not kept here, by the address: a refusal that they do not repeat. */
export const notKept = {
  "/i/v1/logs": "Logs",
  "/i/v1/metrics": "Metrics",
  "/i/v1/traces": "Traces",
  "/i/v0/ai/otel": "Traces of language models",
  "/i/v0/ai": "Events of language models with files",
} as const;

/** What is empty in a project without surveys, experiments, early access features and tours, by its path. */
export const emptyLists = {
  "/api/surveys": { surveys: [] },
  "/api/web_experiments": { experiments: [] },
  "/api/early_access_features": { earlyAccessFeatures: [] },
  "/api/product_tours": { product_tours: [] },
} as const;
