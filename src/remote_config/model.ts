// The configuration of SDKs: which features are on, and how they send. Only features that the server has are on.

/**
 * The configuration of a project without recordings, as posthog-js and the mobile SDKs read it. Missing features count
 * as off, except autocapture and surveys.
 */
const withoutRecordings = {
  supportedCompression: ["gzip", "gzip-js"],
  /**
   * With false posthog-js does not request flags, and never calls `onFeatureFlags`: an application that waits for flags
   * before it renders would hang. True costs one request to /flags a page, which answers that there are none.
   */
  hasFeatureFlags: true,
  /** When it is missing, posthog-js keeps autocapture off for new visitors. */
  autocapture_opt_out: false,
  autocaptureExceptions: false,
  errorTracking: { autocaptureExceptions: false, suppressionRules: [] },
  capturePerformance: false,
  captureDeadClicks: false,
  heatmaps: false,
  productTours: false,
  /** When it is missing, posthog-js waits for surveys and does not call its callbacks. */
  surveys: false,
  logs: { captureConsoleLogs: false },
  conversations: false,
  sessionRecording: false,
  /** The path for events; by default /e/. */
  analytics: { endpoint: "/i/v0/e/" },
  /** With true, autocapture sends `$elements_chain` as one text instead of a list of objects. */
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  siteApps: [],
  toolbarParams: {},
  isAuthenticated: false,
};

/** How a browser records its sessions; the recorder has defaults for the rest. `endpoint`: the path for snapshots. */
const sessionRecording = { endpoint: "/s/", recorderVersion: "v2" };

/** Whether a project wants recordings, and what pages write to the console in them. */
export interface Recorded {
  records: boolean;
  recordsConsole: boolean;
}

export function remoteConfig({ records, recordsConsole }: Recorded) {
  const recording = { ...sessionRecording, consoleLogRecordingEnabled: recordsConsole };
  return records ? { ...withoutRecordings, sessionRecording: recording } : withoutRecordings;
}

export function namedConfig(token: string, recorded: Recorded) {
  return { token, ...remoteConfig(recorded) };
}

/** namedConfig() as a script. posthog-js loads it first: blockers let scripts pass more often than requests. */
export function remoteConfigScript(token: string, recorded: Recorded): string {
  const entry = JSON.stringify({ config: namedConfig(token, recorded), siteApps: [] });
  return (
    "(function(w){w._POSTHOG_REMOTE_CONFIG=w._POSTHOG_REMOTE_CONFIG||{};" +
    `w._POSTHOG_REMOTE_CONFIG[${JSON.stringify(token)}]=${entry}})(window);\n`
  );
}

/** The reply of a project without flags, with `flags` for newer SDKs and the fields for older ones. */
export function noFlags(requestId: string) {
  return {
    flags: {},
    featureFlags: {},
    featureFlagPayloads: {},
    errorsWhileComputingFlags: false,
    requestId,
  };
}

/** The flag definitions of a project without flags, for server SDKs that evaluate flags themselves. */
export const noFlagDefinitions = { flags: [], group_type_mapping: {}, cohorts: {} } as const;

/** The payload of any flag, as of a flag without one: posthog-node would return the body of a 404 as the payload. */
export const noPayload = null;

/** Paths of data that SDKs send and this server does not store. */
export const notKept = {
  "/i/v1/logs": "Logs",
  "/i/v1/metrics": "Metrics",
  "/i/v1/traces": "Traces",
  "/i/v0/ai/otel": "Traces of language models",
  "/i/v0/ai": "Events of language models with files",
} as const;

/** Keyed by path: the replies of a project without surveys, experiments, early access features and tours. */
export const emptyLists = {
  "/api/surveys": { surveys: [] },
  "/api/web_experiments": { experiments: [] },
  "/api/early_access_features": { earlyAccessFeatures: [] },
  "/api/product_tours": { product_tours: [] },
} as const;
